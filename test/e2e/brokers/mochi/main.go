// A Mochi broker that announces what its second argument says: main ADDRESS '{"retain_available": 0}'.
package main

import (
	"encoding/json"
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	mqtt "github.com/mochi-mqtt/server/v2"
	"github.com/mochi-mqtt/server/v2/hooks/auth"
	"github.com/mochi-mqtt/server/v2/listeners"
)

func must(err error) {
	if err != nil {
		panic(err)
	}
}

func main() {
	capabilities := mqtt.NewDefaultServerCapabilities()
	must(json.Unmarshal([]byte(os.Args[2]), capabilities))
	logger := slog.New(slog.NewTextHandler(os.Stderr, nil))
	server := mqtt.New(&mqtt.Options{Capabilities: capabilities, Logger: logger})
	must(server.AddHook(new(auth.AllowHook), nil))
	must(server.AddListener(listeners.NewTCP(listeners.Config{ID: "tcp", Address: os.Args[1]})))
	must(server.Serve())
	os.Stdout.WriteString("listening\n")
	stopped := make(chan os.Signal, 1)
	signal.Notify(stopped, os.Interrupt, syscall.SIGTERM)
	<-stopped
}
