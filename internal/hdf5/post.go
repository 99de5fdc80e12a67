package hdf5

import (
	"encoding/json"
	"fmt"
	"net"
	"os"

	"golang.org/x/sys/unix"
)

// mostFiles go with a request.
const mostFiles = 2

// connection makes one of an end of a pair of sockets, which may be closed then.
func connection(end *os.File) (*net.UnixConn, error) {
	conn, err := net.FileConn(end)
	if err != nil {
		return nil, err
	}
	unixConn, ok := conn.(*net.UnixConn)
	if !ok {
		return nil, fmt.Errorf("%s is a connection of the kind %T", end.Name(), conn)
	}
	return unixConn, nil
}

// send sends a request, and files with its first byte.
func send(conn *net.UnixConn, r request, files []*os.File) error {
	text, err := json.Marshal(r)
	if err != nil {
		return err
	}
	if len(files) > 0 {
		var numbers []int
		for _, file := range files {
			numbers = append(numbers, int(file.Fd()))
		}
		n, _, err := conn.WriteMsgUnix(text, unix.UnixRights(numbers...), nil)
		if err != nil {
			return err
		}
		text = text[n:]
	}
	_, err = conn.Write(text)
	return err
}

// mailbox is the child's side of a connection: a reader that keeps the files that come along.
type mailbox struct {
	conn  *net.UnixConn
	files []int
}

func (m *mailbox) Read(p []byte) (int, error) {
	beside := make([]byte, unix.CmsgSpace(4*mostFiles))
	n, size, _, _, err := m.conn.ReadMsgUnix(p, beside)
	if err != nil || size == 0 {
		return n, err
	}
	messages, err := unix.ParseSocketControlMessage(beside[:size])
	for _, message := range messages {
		files, e := unix.ParseUnixRights(&message)
		if e != nil {
			return n, e
		}
		m.files = append(m.files, files...)
	}
	return n, err
}

// take returns the files that have come since it was last called.
func (m *mailbox) take() []int {
	files := m.files
	m.files = nil
	return files
}
