// Listens to a mount over HTTPS by Java's own TLS, and writes what it hears to the standard output.
//
// java Listener.java https://localhost:8443/radio.mp3 ca.pem

import java.io.FileInputStream;
import java.io.InputStream;
import java.net.URI;
import java.security.KeyStore;
import java.security.cert.CertificateFactory;
import javax.net.ssl.HttpsURLConnection;
import javax.net.ssl.SSLContext;
import javax.net.ssl.TrustManagerFactory;

public class Listener {
    public static void main(String[] arguments) throws Exception {
        KeyStore trusted = KeyStore.getInstance(KeyStore.getDefaultType());
        trusted.load(null, null);
        try (InputStream pem = new FileInputStream(arguments[1])) {
            trusted.setCertificateEntry("authority",
                CertificateFactory.getInstance("X.509").generateCertificate(pem));
        }
        TrustManagerFactory managers =
            TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
        managers.init(trusted);
        SSLContext context = SSLContext.getInstance("TLS");
        context.init(null, managers.getTrustManagers(), null);
        HttpsURLConnection connection =
            (HttpsURLConnection) URI.create(arguments[0]).toURL().openConnection();
        connection.setSSLSocketFactory(context.getSocketFactory());
        try (InputStream heard = connection.getInputStream()) {
            heard.transferTo(System.out);
        }
        System.out.flush();
    }
}
