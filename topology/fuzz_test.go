package topology

import (
	"io"
	"regexp"
	"runtime/metrics"
	"strconv"
	"strings"
	"testing"
	"time"
)

// FuzzHostfile: of any text the parser makes the network that another, simple reader finds, or an error that
// names the file where that one finds none. It ends soon, with no more memory than so many devices take.
func FuzzHostfile(f *testing.F) {
	for _, text := range []string{
		"node1 slots=4\nnode2 slots=2\n", "a:4\r\nb:2 max_slots=8 # two\n", "a\nb\na", "a:", "a slots=65536\nb",
		"a slots=+3 max-slots=9\n\xff:1\n", "a:2 slots=2", ":1", "a slots=00004", "a=b slots=1 slots=2",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		fuzzNetwork(t, text, "hostfile: ", FromHostfile, simpleHostfile)
	})
}

// FuzzNetwork is FuzzHostfile for network files.
func FuzzNetwork(f *testing.F) {
	for _, text := range []string{
		"level nvlink 1\nlevel infiniband 8\nlevel wan 100\ngroup site1/node1 4\ngroup site1/node2 4\ngroup x/y 1",
		"level a 1\nlevel b 1\ngroup n 65536\n", "level a 2\nlevel b 1\ngroup n 1", "level a 1\ngroup n 1",
		"level a 1\nlevel a 1\ngroup n 1", "level a 1\nlevel b 1000000\ngroup n/ 1", "group a 1\nlevel a 1",
		"level a 1 # c\n\n#\nlevel b +2\ngroup n 1\ngroup n 02\n", "level a 1\nlevel b 1\ngroup n 65536\ngroup m 1",
	} {
		f.Add(text)
	}
	f.Add(manyLevels(16))
	f.Add(manyLevels(17))
	f.Fuzz(func(t *testing.T, text string) { fuzzNetwork(t, text, "network file: ", FromFile, simpleNetwork) })
}

// fuzzNetwork compares the two readers of a text.
func fuzzNetwork(t *testing.T, text, kind string, read func(io.Reader) (*Network, error),
	simple func(string) ([]string, int)) {
	const most = 128 << 20 // 65536 devices, whose groups have names, on the levels that there may be
	begin, before := time.Now(), allocated()
	net, err := read(strings.NewReader(text))
	if took := allocated() - before; took > uint64(most+16*len(text)) {
		t.Fatalf("%d bytes are allocated", took)
	}
	if took := time.Since(begin); took > 5*time.Second {
		t.Fatalf("it takes %v", took)
	}
	paths, levels := simple(text)
	switch {
	case (err == nil) != (paths != nil):
		t.Fatalf("error %v, and %d devices are there", err, len(paths))
	case err != nil && !strings.HasPrefix(err.Error(), kind):
		t.Fatalf("the error does not say what is wrong: %v", err)
	case err != nil:
		return
	case net.Devices() != len(paths):
		t.Fatalf("%d devices, want %d", net.Devices(), len(paths))
	}
	// The level of a few pairs, by their names.
	for d := 1; d < len(paths); d += 1 + len(paths)/64 {
		a, b := strings.Split(paths[d-1], "/"), strings.Split(paths[d], "/")
		same := 0
		for same < len(a) && a[same] == b[same] {
			same++
		}
		if want := levels - 1 - same; net.Level(d-1, d) != want {
			t.Fatalf("devices %d and %d are on level %d, want %d", d-1, d, net.Level(d-1, d), want)
		}
	}
}

// allocated returns the bytes that were allocated since the program was started.
func allocated() uint64 {
	sample := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}

// simpleLines are the lines of a text that say something; none if one is longer than may be.
func simpleLines(text string) (lines []string) {
	for _, line := range strings.Split(text, "\n") {
		if len(line) >= 1<<16 {
			return nil
		}
		line = regexp.MustCompile(`#.*`).ReplaceAllString(strings.TrimSuffix(line, "\r"), "")
		if line = strings.Join(strings.Fields(line), " "); line != "" {
			lines = append(lines, line)
		}
	}
	return lines
}

// simpleCount is a number of devices, or 0.
func simpleCount(text string) int {
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > 65536 {
		return 0
	}
	return n
}

// simpleHostfile returns the host of each slot, nil if the text is no hostfile.
func simpleHostfile(text string) (hosts []string, levels int) {
	colon := regexp.MustCompile(`^([^:]+):([+-]?[0-9]+)$`)
	for _, line := range simpleLines(text) {
		words := strings.Split(line, " ")
		host, slots, fixed := words[0], 1, false
		if parts := colon.FindStringSubmatch(host); parts != nil {
			host, slots, fixed = parts[1], simpleCount(parts[2]), true
		} else if strings.Contains(host, ":") {
			return nil, 0
		}
		for _, word := range words[1:] {
			key, value, _ := strings.Cut(word, "=")
			n := simpleCount(value)
			if key == "slots" && !fixed {
				slots = n
			} else if key != "max_slots" && key != "max-slots" {
				return nil, 0
			}
			if n == 0 {
				return nil, 0
			}
		}
		if slots == 0 || len(hosts)+slots > 65536 {
			return nil, 0
		}
		for range slots {
			hosts = append(hosts, strings.ReplaceAll(host, "/", "\x00"))
		}
	}
	return hosts, 2
}

// simpleNetwork returns the path of each device, nil if the text is no network file.
func simpleNetwork(text string) (paths []string, levels int) {
	names, last := map[string]bool{}, 1
	for _, line := range simpleLines(text) {
		words := strings.Split(line, " ")
		if len(words) != 3 {
			return nil, 0
		}
		switch n, err := strconv.Atoi(words[2]); {
		case words[0] == "level":
			if err != nil || n < last || n > 1_000_000 || names[words[1]] || paths != nil || levels == maxLevels {
				return nil, 0
			}
			names[words[1]], last = true, n
			levels++
		case words[0] == "group":
			count := simpleCount(words[2])
			parts := strings.Split(words[1], "/")
			empty := strings.Contains("/"+words[1]+"/", "//")
			if levels < 2 || len(parts) != levels-1 || empty || count == 0 || len(paths)+count > 65536 {
				return nil, 0
			}
			for range count {
				paths = append(paths, words[1])
			}
		default:
			return nil, 0
		}
	}
	return paths, levels
}
