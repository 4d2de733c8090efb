package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"log"
	"net"
	"regexp"
	"sort"
	"strconv"
	"sync"
	"time"

	"github.com/pion/rtp"
	"github.com/pion/webrtc/v4"
)

// Pictures that are further apart are a freeze; what is beyond that counts as frozen.
const freeze = 200 * time.Millisecond

// packet is one of a track, under the number that its sender counted.
type packet struct {
	at     time.Time
	stamp  uint32
	marker bool
	key    bool
}

// track is what has arrived of one, by number.
type track struct {
	mutex   sync.Mutex
	packets map[int64]packet
	highest int64
	first   int64
}

// second is what is printed of each second.
type second struct {
	Second int `json:"second"`
	// Packets of sound that came, and by how much their numbers went on.
	Sounds   int   `json:"sounds"`
	Expected int64 `json:"expected"`
	// Seconds of sound that came with the first packet or within a fifth of a second.
	Early float64 `json:"early"`
	// Pictures that could be shown.
	Pictures int `json:"pictures"`
	// Seconds so far in which the picture was frozen.
	Frozen float64 `json:"frozen"`
}

// watch plays a stream for some seconds and prints a line of JSON for each.
func watch(arguments []string) {
	flags := flag.NewFlagSet("watch", flag.ExitOnError)
	rtx := flags.Bool("rtx", true, "offer repetitions a payload type of their own, as pion does by default")
	timed := flags.Bool("timed", true, "take reports, so that one's own tell how long the way is")
	via := flags.String("via", "", "the address to send to instead of the server's")
	check("the options", flags.Parse(arguments))
	if flags.NArg() != 2 {
		log.Fatal("usage: pion-viewer watch [-rtx=false] [-timed=false] [-via ADDRESS] SECONDS URL")
	}
	seconds, err := strconv.Atoi(flags.Arg(0))
	check("SECONDS", err)
	peer, err := newPeer(*rtx)
	check("a peer", err)
	receiveBoth(peer)
	sound, picture := newTrack(), newTrack()
	peer.OnTrack(func(remote *webrtc.TrackRemote, receiver *webrtc.RTPReceiver) {
		if *timed {
			// pion takes a sender's report as its program reads it.
			go func() {
				for {
					if _, _, err := receiver.ReadRTCP(); err != nil {
						return
					}
				}
			}()
		}
		into := sound
		if remote.Kind() == webrtc.RTPCodecTypeVideo {
			into = picture
		}
		for {
			got, _, err := remote.ReadRTP()
			if err != nil {
				return
			}
			into.add(got)
		}
	})
	check("the answer", ask(peer, flags.Arg(1), *via))
	start := time.Now()
	heard, highest := 0, int64(-1)
	for number := 0; number < seconds; number++ {
		time.Sleep(time.Until(start.Add(time.Duration(number+1) * time.Second)))
		now := time.Now()
		line := second{Second: number}
		sound.mutex.Lock()
		line.Sounds = len(sound.packets) - heard
		if highest >= 0 {
			line.Expected = sound.highest - highest
		} else if len(sound.packets) > 0 {
			line.Expected = sound.highest - sound.first + 1
		}
		heard = len(sound.packets)
		line.Early = sound.early().Seconds()
		if heard > 0 {
			highest = sound.highest
		}
		sound.mutex.Unlock()
		shown := picture.shown()
		for _, at := range shown {
			if now.Sub(at) <= time.Second {
				line.Pictures++
			}
		}
		line.Frozen = frozen(shown, now).Seconds()
		text, err := json.Marshal(line)
		check("a line", err)
		fmt.Println(string(text))
	}
	check("the end", peer.Close())
}

// newPeer is a peer with pion's own codecs, or with those that are needed and no payload type for repetitions.
func newPeer(rtx bool) (*webrtc.PeerConnection, error) {
	if rtx {
		return webrtc.NewPeerConnection(webrtc.Configuration{})
	}
	media := &webrtc.MediaEngine{}
	opus := webrtc.RTPCodecCapability{MimeType: webrtc.MimeTypeOpus, ClockRate: 48000, Channels: 2}
	h264 := webrtc.RTPCodecCapability{
		MimeType:     webrtc.MimeTypeH264,
		ClockRate:    90000,
		SDPFmtpLine:  "level-asymmetry-allowed=1;packetization-mode=1;profile-level-id=42e01f",
		RTCPFeedback: []webrtc.RTCPFeedback{{Type: "nack"}, {Type: "nack", Parameter: "pli"}},
	}
	audio := webrtc.RTPCodecParameters{RTPCodecCapability: opus, PayloadType: 111}
	if err := media.RegisterCodec(audio, webrtc.RTPCodecTypeAudio); err != nil {
		return nil, err
	}
	video := webrtc.RTPCodecParameters{RTPCodecCapability: h264, PayloadType: 102}
	if err := media.RegisterCodec(video, webrtc.RTPCodecTypeVideo); err != nil {
		return nil, err
	}
	return webrtc.NewAPI(webrtc.WithMediaEngine(media)).NewPeerConnection(webrtc.Configuration{})
}

func newTrack() *track {
	return &track{packets: make(map[int64]packet)}
}

// add notes a packet; of one that comes again the first time counts.
func (track *track) add(got *rtp.Packet) {
	track.mutex.Lock()
	defer track.mutex.Unlock()
	number := int64(got.SequenceNumber)
	if len(track.packets) > 0 {
		number = track.highest + int64(int16(got.SequenceNumber-uint16(track.highest)))
	} else {
		track.highest, track.first = number, number
	}
	if _, is := track.packets[number]; is {
		return
	}
	track.highest = max(track.highest, number)
	track.first = min(track.first, number)
	track.packets[number] = packet{time.Now(), got.Timestamp, got.Marker, isKey(got.Payload)}
}

// isKey tells whether a payload of H.264 begins a keyframe: parameter sets, or a picture that needs no other.
func isKey(payload []byte) bool {
	if len(payload) < 4 {
		return false
	}
	switch kind := payload[0] & 31; kind {
	case 5, 7:
		return true
	case 24:
		return payload[3]&31 == 7
	case 28:
		return payload[1]&0x80 != 0 && payload[1]&31 == 5
	default:
		return false
	}
}

// shown is when each picture could be shown, in their order: with all its packets, after the one that it is predicted
// from.
func (track *track) shown() []time.Time {
	track.mutex.Lock()
	defer track.mutex.Unlock()
	var all []time.Time
	var ready time.Time
	isWhole, isKey, isDecodable, begins := true, false, false, true
	for number := track.first; number <= track.highest; number++ {
		got, is := track.packets[number]
		if !is {
			// The picture's end may be among what is missing, and the next one's beginning.
			isWhole, begins = false, false
			continue
		}
		if begins || got.key {
			if got.key {
				isWhole = true
			}
			isKey = got.key
			if isKey {
				ready = got.at
			}
			begins = false
		}
		if got.at.After(ready) {
			ready = got.at
		}
		if !got.marker {
			continue
		}
		isDecodable = isWhole && (isKey || isDecodable)
		if isDecodable {
			all = append(all, ready)
		}
		isWhole, isKey, begins = true, false, true
	}
	sort.Slice(all, func(one, other int) bool { return all[one].Before(all[other]) })
	return all
}

// early is how much sound came with the first packet or within a fifth of a second, each packet as long as Opus has them by
// default.
func (track *track) early() time.Duration {
	var first time.Time
	for _, got := range track.packets {
		if first.IsZero() || got.at.Before(first) {
			first = got.at
		}
	}
	stamps := make(map[uint32]bool)
	for _, got := range track.packets {
		if got.at.Sub(first) <= time.Second/5 {
			stamps[got.stamp] = true
		}
	}
	return time.Duration(len(stamps)) * 20 * time.Millisecond
}

// frozen is for how long no picture could be shown that was due, until now.
func frozen(shown []time.Time, now time.Time) time.Duration {
	var all time.Duration
	for index, at := range shown {
		next := now
		if index+1 < len(shown) {
			next = shown[index+1]
		}
		if gap := next.Sub(at) - freeze; gap > 0 {
			all += gap
		}
	}
	return all
}

var candidate = regexp.MustCompile(`(?m)^(a=candidate:\S+ \d+ udp \d+) \S+ \d+`)
var overTCP = regexp.MustCompile(`(?m)^a=candidate:\S+ \d+ tcp .*\r\n`)

// rewritten is a description with another address over UDP, and none over TCP.
func rewritten(sdp, via string) string {
	host, port, err := net.SplitHostPort(via)
	check("ADDRESS", err)
	return candidate.ReplaceAllString(overTCP.ReplaceAllString(sdp, ""), "${1} "+host+" "+port)
}
