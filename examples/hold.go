/* hold.go - three workers, one at a time, in Go: a lock through one child process.
 * `go run hold.go` needs `holdfast` in PATH; docs/status-fd.md tells what is read here.  It prints
 *
 *     turn 1: 1 inside, the token has risen: true
 *     turn 2: 1 inside, the token has risen: true
 *     turn 3: 1 inside, the token has risen: true
 */
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"time"
)

// Calls work under the lock.  When its context is done the lock is ours no longer, and it must stop.
func locked(name string, work func(held context.Context, token uint64)) error {
	child := exec.Command("holdfast", "hold", "-q", "--status-fd", "1", name)
	child.Stderr = os.Stderr
	stdin, _ := child.StdinPipe()
	stdout, _ := child.StdoutPipe()
	if err := child.Start(); err != nil {
		return err
	}
	held, stop := context.WithCancel(context.Background())
	timer := time.AfterFunc(1<<62, stop)
	var working sync.WaitGroup
	for lines := json.NewDecoder(stdout); ; {
		var line struct {
			Event    string
			Token    uint64 `json:",string"`
			LeftMs   *int64 `json:"left_ms"` // nil: as long as the child lives
			Deadline time.Time
		}
		if lines.Decode(&line) != nil {
			break // the end: of all, or of a child that was killed
		}
		if line.LeftMs != nil {
			left := time.Duration(*line.LeftMs) * time.Millisecond
			if until := time.Until(line.Deadline); until < left {
				left = until
			}
			timer.Reset(left)
		}
		if line.Event == "held" {
			working.Add(1)
			go func() {
				work(held, line.Token)
				stdin.Close() // releases it
				working.Done()
			}()
		} else if line.Event == "lost" {
			stop()
		}
	}
	stop()
	working.Wait()
	return child.Wait() // nil only if it was held to the end
}

func main() {
	var turn, inside int
	var last uint64
	work := func(held context.Context, token uint64) {
		turn, inside = turn+1, inside+1 // nobody else does so now
		fmt.Printf("turn %d: %d inside, the token has risen: %t\n", turn, inside, token > last)
		last = token
		select {
		case <-held.Done():
		case <-time.After(20 * time.Millisecond):
		}
		inside--
	}
	ended := make(chan error)
	for i := 0; i < 3; i++ {
		go func() { ended <- locked("example-go", work) }()
	}
	for i := 0; i < 3; i++ {
		if err := <-ended; err != nil {
			panic(err)
		}
	}
}
