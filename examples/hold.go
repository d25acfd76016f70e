/* hold.go - three workers, one at a time, in Go: a lock through one child process.
 *
 *     go run hold.go
 *
 * needs `holdfast` in PATH, and no module.  docs/status-fd.md tells what it reads.  It prints
 *
 *     turn 1: alone, the token has risen
 *     turn 2: alone, the token has risen
 *     turn 3: alone, the token has risen
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

// One line; what is not known is ignored.
type event struct {
	Event    string
	Token    uint64 `json:",string"`
	LeftMs   *int64 `json:"left_ms"` // nil: as long as the child lives
	Deadline time.Time
}

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
		var e event
		if lines.Decode(&e) != nil {
			break // the end: of all, or of a child that was killed
		}
		if e.LeftMs != nil {
			left := time.Duration(*e.LeftMs) * time.Millisecond
			if until := time.Until(e.Deadline); until < left {
				left = until
			}
			timer.Reset(left)
		}
		if e.Event == "held" {
			working.Add(1)
			go func() {
				work(held, e.Token)
				stdin.Close() // releases it
				working.Done()
			}()
		} else if e.Event == "lost" {
			stop()
		}
	}
	stop()
	working.Wait()
	return child.Wait() // nil only if it was held to the end
}

func main() {
	var inside, turn int
	var last uint64
	var all sync.WaitGroup
	words := map[bool][]any{true: {"alone", "risen"}, false: {"TOGETHER", "FALLEN"}}
	work := func(held context.Context, token uint64) {
		turn, inside = turn+1, inside+1 // nobody else does so now
		fmt.Printf("turn %d: %s, the token has %s\n", turn, words[inside == 1][0], words[token > last][1])
		last = token
		select {
		case <-held.Done():
			os.Exit(1)
		case <-time.After(20 * time.Millisecond):
		}
		inside--
	}
	for i := 0; i < 3; i++ {
		all.Add(1)
		go func() {
			if err := locked("example-go", work); err != nil {
				panic(err)
			}
			all.Done()
		}()
	}
	all.Wait()
}
