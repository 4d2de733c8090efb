// A WHEP player on pion. It offers to receive sound and picture, as players do that do not know what a
// stream has, and ends when enough packets of each expected kind have arrived.
//
//	pion-viewer URL PACKETS audio|video...
//	pion-viewer watch [-rtx=false] [-timed=false] [-via ADDRESS] SECONDS URL
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
	if len(os.Args) > 1 && os.Args[1] == "watch" {
		watch(os.Args[2:])
		return
	}
	if len(os.Args) < 4 {
		log.Fatal("usage: pion-viewer URL PACKETS audio|video...")
	}
	wanted, err := strconv.Atoi(os.Args[2])
	check("PACKETS", err)
	peer, err := webrtc.NewPeerConnection(webrtc.Configuration{})
	check("a peer", err)
	receiveBoth(peer)
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
	check("the answer", ask(peer, os.Args[1], ""))
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

// receiveBoth has a peer offer to receive sound and picture.
func receiveBoth(peer *webrtc.PeerConnection) {
	for _, kind := range []webrtc.RTPCodecType{webrtc.RTPCodecTypeAudio, webrtc.RTPCodecTypeVideo} {
		receives := webrtc.RTPTransceiverInit{Direction: webrtc.RTPTransceiverDirectionRecvonly}
		_, err := peer.AddTransceiverFromKind(kind, receives)
		check("a transceiver", err)
	}
}

// ask sends an offer with all candidates, and takes the answer, in which the address via, if there is one, takes the place of
// the server's over UDP.
func ask(peer *webrtc.PeerConnection, url, via string) error {
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
	sdp := string(text)
	if via != "" {
		sdp = rewritten(sdp, via)
	}
	return peer.SetRemoteDescription(webrtc.SessionDescription{Type: webrtc.SDPTypeAnswer, SDP: sdp})
}

func check(what string, err error) {
	if err != nil {
		log.Fatalf("%s: %v", what, err)
	}
}
