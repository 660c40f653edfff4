// A download over QUIC: quicgo listen ADDR, or quicgo fetch ADDR SECONDS.
package main

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"log"
	"math/big"
	"os"
	"strconv"
	"time"

	"github.com/quic-go/quic-go"
)

var protocols = []string{"download"}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

// serve sends each connection as much as it takes.
func serve(address string) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	check(err)
	template := x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour)}
	certificate, err := x509.CreateCertificate(rand.Reader, &template, &template, &key.PublicKey, key)
	check(err)
	chain := []tls.Certificate{{Certificate: [][]byte{certificate}, PrivateKey: key}}
	listener, err := quic.ListenAddr(address, &tls.Config{Certificates: chain, NextProtos: protocols}, nil)
	check(err)
	for {
		connection, err := listener.Accept(context.Background())
		check(err)
		go func() {
			stream, err := connection.AcceptStream(context.Background())
			block := make([]byte, 1<<16)
			for err == nil {
				_, err = stream.Write(block)
			}
		}()
	}
}

// fetch prints a line of JSON per 200 ms: when, and Mbit/s since the one before.
func fetch(address string, seconds float64) {
	insecure := &tls.Config{InsecureSkipVerify: true, NextProtos: protocols}
	begin := time.Now()
	connection, err := quic.DialAddr(context.Background(), address, insecure, nil)
	check(err)
	stream, err := connection.OpenStreamSync(context.Background())
	check(err)
	_, err = stream.Write([]byte("go"))
	check(err)
	last, end := begin, begin.Add(time.Duration(seconds*1e9))
	check(stream.SetReadDeadline(end))
	block, bytes, total := make([]byte, 1<<16), 0, 0
	for err == nil {
		var count int
		count, err = stream.Read(block)
		bytes += count
		total += count
		if now := time.Now(); now.Sub(last) >= 200*time.Millisecond {
			rate := float64(bytes) * 8e-6 / now.Sub(last).Seconds()
			fmt.Printf("{\"time_s\": %.6f, \"mbit_s\": %.4f}\n", float64(now.UnixMicro())/1e6, rate)
			last, bytes = now, 0
		}
	}
	if time.Now().Before(end) {
		log.Fatal(err)
	}
	fmt.Printf("{\"bytes\": %d}\n", total)
	check(connection.CloseWithError(0, ""))
}

func main() {
	if len(os.Args) == 3 && os.Args[1] == "listen" {
		serve(os.Args[2])
	}
	seconds, err := strconv.ParseFloat(os.Args[3], 64)
	check(err)
	fetch(os.Args[2], seconds)
}
