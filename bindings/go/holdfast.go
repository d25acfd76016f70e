// Package holdfast has locks shared by many processes, on one machine or many.
//
//	client, err := holdfast.Open(holdfast.Options{URL: "sqlite:"})
//	...
//	defer client.Close()
//	lock, err := client.Lock(ctx, "nightly-report")
//	...
//	defer lock.Unlock()
//	writeReport(lock.Context(), lock.Token)
//
// A client starts one process, `holdfast serve`, which holds all its locks.  There is no cgo.
package holdfast

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"time"
)

// Options of a client.
type Options struct {
	URL     string // of the store, "sqlite:" for a file of this user; "": $HOLDFAST_URL, which must be set
	Note    string // text that others see, for locks without a note of their own
	Command string // the holdfast command; "": $HOLDFAST_COMMAND, or the one in PATH
}

// Client is one session in one store.  All its methods may be called by several goroutines.
type Client struct {
	helper *helper
}

// Place is one place in the queue of a lock.
type Place struct {
	Name    string `json:"name"`
	Held    bool   `json:"held"`
	Token   uint64 `json:"token,string"`
	Kind    string `json:"kind"`
	AgeMs   int64  `json:"age_ms"`
	Weight  uint32 `json:"weight"`
	Slot    *int   `json:"slot"`
	Host    string `json:"host"`
	User    string `json:"user"`
	Pid     int    `json:"pid"`
	Command string `json:"command"`
	Note    string `json:"note"`
}

// Histogram tells how long something took.  Buckets[i] counts what took less than 2^i microseconds
// and not less than half of that.
type Histogram struct {
	Count   uint64   `json:"count"`
	TotalUs uint64   `json:"total_us"`
	MaxUs   uint64   `json:"max_us"`
	Buckets []uint64 `json:"buckets"`
}

// Stats are the counts of all locks of a client; docs/metrics.md of Holdfast explains them.
type Stats struct {
	Acquired     uint64    `json:"acquired"`
	Busy         uint64    `json:"busy"` // not acquired, by reason
	Timeouts     uint64    `json:"timeouts"`
	Canceled     uint64    `json:"canceled"`
	Failed       uint64    `json:"failed"`
	Released     uint64    `json:"released"`
	Lost         uint64    `json:"lost"`
	Broken       uint64    `json:"broken"` // of Lost: somebody took it away
	Connected    uint64    `json:"connected"`
	SessionsLost uint64    `json:"sessions_lost"`
	Renewals     uint64    `json:"renewals"`
	RenewalsLate uint64    `json:"renewals_late"`
	LeastLeftMs  *int64    `json:"least_left_ms"` // of the lease while a lock was held; nil: there is none
	Wait         Histogram `json:"wait"`
	Hold         Histogram `json:"hold"`
	RoundTrip    Histogram `json:"round_trip"`
}

// Open starts the helper process.  It does not contact a server: the first lock does.
func Open(options Options) (*Client, error) {
	command := options.Command
	if command == "" {
		command = os.Getenv("HOLDFAST_COMMAND")
	}
	if command == "" {
		command = "holdfast"
	}
	arguments := []string{"serve", "--stdio"}
	if options.Note != "" {
		arguments = append(arguments, "--note", options.Note)
	}
	child := exec.Command(command, arguments...)
	child.Stderr = os.Stderr
	if options.URL != "" { // not as an argument: it may have a password
		child.Env = append(os.Environ(), "HOLDFAST_URL="+options.URL)
	} else if os.Getenv("HOLDFAST_URL") == "" { // perhaps it comes from a variable that nobody has set
		return nil, errors.New(`holdfast: no store is named: set Options.URL, to "sqlite:" for a file of this user, or HOLDFAST_URL`)
	}
	h, err := start(child)
	if err != nil {
		return nil, fmt.Errorf("holdfast: cannot start %s: %w", command, err)
	}
	return &Client{h}, nil
}

// Close releases all locks and ends the helper process.
func (c *Client) Close() error {
	return c.helper.close()
}

// Option says how a lock behaves.
type Option func(map[string]any)

// Shared shares the lock with other readers.
func Shared() Option { return member("kind", "reader") }

// Exclusive excludes readers and writers of a lock that others share.
func Exclusive() Option { return member("kind", "writer") }

// Claim is a lock without a queue.
func Claim() Option { return member("kind", "claim") }

// Slots allows so many holders at a time.
func Slots(count int) Option {
	return func(request map[string]any) { request["kind"], request["slots"] = "semaphore", count }
}

// Weight takes so many of the slots.
func Weight(weight int) Option { return member("weight", weight) }

// Try asks once and does not queue: ErrBusy.
func Try() Option { return member("timeout_ms", 0) }

// MaxWaiters does not queue behind so many: ErrFull.
func MaxWaiters(count int) Option { return member("max_waiters", count) }

// Note is text that others see.
func Note(text string) Option { return member("note", text) }

func member(name string, value any) Option {
	return func(request map[string]any) { request[name] = value }
}

// Lock waits until the lock is held or ctx is done.
func (c *Client) Lock(ctx context.Context, name string, options ...Option) (*Lock, error) {
	request := map[string]any{"op": "acquire", "name": name}
	for _, option := range options {
		option(request)
	}
	return c.helper.acquire(ctx, name, request)
}

// Do calls work while the lock is held.  The context of work is done when the lock is lost.
// If work returns nil, but the lock was not held to the end, the result is ErrLost.
func (c *Client) Do(ctx context.Context, name string, work func(context.Context, *Lock) error,
	options ...Option) (err error) {
	lock, err := c.Lock(ctx, name, options...)
	if err != nil {
		return err
	}
	defer func() { // also if work panics
		if released := lock.Unlock(); err == nil {
			err = released
		}
	}()
	return work(lock.Context(), lock)
}

// List returns the holders and waiters of a lock, or with "" of all.
func (c *Client) List(ctx context.Context, name string) ([]Place, error) {
	request := map[string]any{"op": "list"}
	if name != "" {
		request["name"] = name
	}
	answer, err := c.helper.ask(ctx, request)
	return answer.places, err
}

// Ask asks the holders of a lock to give it up, and returns their number.
func (c *Client) Ask(ctx context.Context, name, reason string) (int, error) {
	answer, err := c.helper.ask(ctx, map[string]any{"op": "ask", "name": name, "reason": reason})
	return answer.Count, err
}

// Break takes the place with this token away from its owner.
func (c *Client) Break(ctx context.Context, name string, token uint64) error {
	_, err := c.helper.ask(ctx, map[string]any{"op": "break", "name": name, "token": fmt.Sprint(token)})
	return err
}

// Verify returns nil if this token holds the lock now, and ErrLost if it does not.
func (c *Client) Verify(ctx context.Context, name string, token uint64) error {
	_, err := c.helper.ask(ctx, map[string]any{"op": "check", "name": name, "token": fmt.Sprint(token)})
	return err
}

// Stats returns what the helper has counted since it started, for metrics.
func (c *Client) Stats(ctx context.Context) (Stats, error) {
	answer, err := c.helper.ask(ctx, map[string]any{"op": "stats"})
	return answer.stats, err
}

// Lock is a lock that is held.
type Lock struct {
	Name  string
	Token uint64 // the fencing token: higher than that of every earlier holder of this name
	Slot  int    // with Slots: a number that no other holder has at that time; else -1

	helper *helper
	id     int64
	ctx    context.Context
	cancel context.CancelFunc
	lost   error // guarded by helper.mutex
	asked  chan string
}

// Context is done when the lock is lost or released.  Its parent is that of the call to Lock.
func (l *Lock) Context() context.Context { return l.ctx }

// Asked receives the reason when somebody asks for the lock.  You need not do anything.
func (l *Lock) Asked() <-chan string { return l.asked }

// Left is the time for which the lock is certainly held, by this process's own clock; 0: stop now.
func (l *Lock) Left() time.Duration { return l.helper.left(l) }

// Check asks the store whether the lock is still held: nil, ErrLost, or what went wrong.
func (l *Lock) Check(ctx context.Context) error {
	return l.helper.askAbout(ctx, l, "check")
}

// Downgrade turns a lock with Exclusive into one with Shared; no other writer gets in between.
func (l *Lock) Downgrade(ctx context.Context) error {
	return l.helper.askAbout(ctx, l, "downgrade")
}

// Unlock releases the lock.  ErrLost: it was not held to the end.
func (l *Lock) Unlock() error { return l.helper.release(l) }
