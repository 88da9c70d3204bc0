// Package sdnotify tells systemd how the daemon is: that it is ready, that it
// is alive, that it stops. It is the small part of systemd's protocol that a
// service needs: a line in a datagram to the socket that NOTIFY_SOCKET names.
package sdnotify

import (
	"fmt"
	"net"
)

// What is told.
const (
	Ready    = "READY=1"
	Alive    = "WATCHDOG=1"
	Stopping = "STOPPING=1"
)

// Socket is where systemd listens.
type Socket struct{ conn *net.UnixConn }

// Open opens the socket of that name; one that begins with @ has no file. Without
// a name there is nobody to tell, and the nil Socket tells nobody.
func Open(name string) (*Socket, error) {
	if name == "" {
		return nil, nil
	}
	if name[0] != '@' && name[0] != '/' {
		return nil, fmt.Errorf("tell the service manager: unknown kind of socket %q", name)
	}
	conn, err := net.DialUnix("unixgram", nil, &net.UnixAddr{Name: name, Net: "unixgram"})
	if err != nil {
		return nil, fmt.Errorf("tell the service manager: %w", err)
	}
	return &Socket{conn}, nil
}

// Tell tells one thing.
func (s *Socket) Tell(what string) error {
	if s == nil {
		return nil
	}
	if _, err := s.conn.Write([]byte(what)); err != nil {
		return fmt.Errorf("tell the service manager: %w", err)
	}
	return nil
}

// Close ends it.
func (s *Socket) Close() error {
	if s == nil {
		return nil
	}
	return s.conn.Close()
}
