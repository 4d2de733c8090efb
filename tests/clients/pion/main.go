// A WHEP player on pion. It offers to receive sound and picture, as players do that do not know what a
// stream has, and ends when enough packets of each expected kind have arrived.
//
//	pion-viewer URL PACKETS audio|video...
package main

import (
	"bytes"
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
	"strconv"
	"time"

	"github.com/pion/webrtc/v4"
)

// For the whole session, on a loaded machine.
const deadline = 50 * time.Second

func main() {
	log.SetFlags(0)
	if len(os.Args) < 4 {
		log.Fatal("usage: pion-viewer URL PACKETS audio|video...")
	}
	wanted, err := strconv.Atoi(os.Args[2])
	check("PACKETS", err)
	peer, err := webrtc.NewPeerConnection(webrtc.Configuration{})
	check("a peer", err)
	for _, kind := range []webrtc.RTPCodecType{webrtc.RTPCodecTypeAudio, webrtc.RTPCodecTypeVideo} {
		receives := webrtc.RTPTransceiverInit{Direction: webrtc.RTPTransceiverDirectionRecvonly}
		_, err = peer.AddTransceiverFromKind(kind, receives)
		check("a transceiver", err)
	}
	complete := make(chan string, 2)
	peer.OnTrack(func(track *webrtc.TrackRemote, _ *webrtc.RTPReceiver) {
		for got := 0; got < wanted; got++ {
			if _, _, err := track.ReadRTP(); err != nil {
				log.Printf("%v ends after %d packets: %v", track.Kind(), got, err)
				return
			}
		}
		complete <- track.Kind().String()
	})
	check("the answer", ask(peer, os.Args[1]))
	missing := make(map[string]bool)
	for _, kind := range os.Args[3:] {
		missing[kind] = true
	}
	over := time.After(deadline)
	for len(missing) > 0 {
		select {
		case kind := <-complete:
			fmt.Println(kind)
			delete(missing, kind)
		case <-over:
			log.Fatalf("not enough of %v in %v; the connection is %v", missing, deadline, peer.ConnectionState())
		}
	}
}

// ask sends an offer with all candidates, and takes the answer.
func ask(peer *webrtc.PeerConnection, url string) error {
	gathered := webrtc.GatheringCompletePromise(peer)
	offer, err := peer.CreateOffer(nil)
	if err != nil {
		return err
	}
	if err := peer.SetLocalDescription(offer); err != nil {
		return err
	}
	<-gathered
	body := bytes.NewBufferString(peer.LocalDescription().SDP)
	answer, err := http.Post(url, "application/sdp", body)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		return err
	}
	if answer.StatusCode != http.StatusCreated {
		return fmt.Errorf("%s: %s", answer.Status, text)
	}
	return peer.SetRemoteDescription(webrtc.SessionDescription{Type: webrtc.SDPTypeAnswer, SDP: string(text)})
}

func check(what string, err error) {
	if err != nil {
		log.Fatalf("%s: %v", what, err)
	}
}
