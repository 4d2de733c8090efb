// Listens to a mount over HTTPS by Go's own TLS, and writes what it hears to the standard output.
//
// tls-listener https://localhost:8443/radio.mp3 ca.pem
package main

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net/http"
	"os"
)

func listen(url, authority string) error {
	pem, err := os.ReadFile(authority)
	if err != nil {
		return err
	}
	trusted := x509.NewCertPool()
	trusted.AppendCertsFromPEM(pem)
	// HTTP/1.1, which a mount has to itself.
	client := http.Client{Transport: &http.Transport{
		TLSClientConfig: &tls.Config{RootCAs: trusted},
		TLSNextProto:    map[string]func(string, *tls.Conn) http.RoundTripper{},
	}}
	answer, err := client.Get(url)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("status %d", answer.StatusCode)
	}
	_, err = io.Copy(os.Stdout, answer.Body)
	return err
}

func main() {
	if err := listen(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
