package holdfast

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os/exec"
	"sync"
	"syscall"
	"time"
	"unsafe"
)

const protocol = 1

// An event of the helper; docs/serve.md of Holdfast describes them.
type event struct {
	Event      string
	ID         int64
	Lock       int64
	Protocol   int
	Version    string
	Name       string
	Token      string
	Slot       *int
	BoottimeMs *int64 `json:"boottime_ms"`
	Error      *string
	Text       string
	Reason     string
	Why        string
	Count      int
	places     []Place
	stats      Stats
}

func (e event) err() error {
	if e.Error == nil {
		return nil
	}
	text := e.Text
	if text == "" {
		text = "the release of \"" + e.Name + "\" failed"
	}
	return &Error{*e.Error, text}
}

type helper struct {
	child *exec.Cmd
	done  chan struct{} // closed when it has ended

	// For writing to stdin, and nothing else: while it is full, answers must be read.
	writing sync.Mutex
	stdin   io.WriteCloser

	mutex    sync.Mutex // guards all that follows
	next     int64
	pending  map[int64]*question
	locks    map[int64]*Lock
	ended    error
	deadline int64 // CLOCK_BOOTTIME in ms; MaxInt64: none
	timer    *time.Timer
}

type question struct {
	answer chan event // has room for it
	places []Place
	lock   *Lock // of an acquire
}

func start(child *exec.Cmd) (*helper, error) {
	stdin, err := child.StdinPipe()
	if err != nil {
		return nil, err
	}
	stdout, err := child.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := child.Start(); err != nil {
		return nil, err
	}
	h := &helper{child: child, stdin: stdin, done: make(chan struct{}), pending: map[int64]*question{},
		locks: map[int64]*Lock{}, deadline: math.MaxInt64}
	h.timer = time.AfterFunc(math.MaxInt64, h.expire)
	lines := bufio.NewReader(stdout)
	first, err := read(lines)
	if err == nil && first.Event != "hello" {
		err = first.err()
	} else if err == nil && first.Protocol != protocol {
		err = fmt.Errorf("version %s speaks protocol %d, not %d", first.Version, first.Protocol, protocol)
	}
	if err != nil {
		child.Process.Kill() // whatever it is, it has no lock of ours
		child.Wait()
		return nil, err
	}
	go h.readAll(lines)
	return h, nil
}

func read(lines *bufio.Reader) (e event, err error) {
	line, err := lines.ReadBytes('\n')
	if err != nil {
		return e, err
	}
	if err = json.Unmarshal(line, &e); err != nil {
		return e, err
	}
	switch e.Event {
	case "entry":
		e.places = make([]Place, 1)
		err = json.Unmarshal(line, &e.places[0])
	case "stats":
		err = json.Unmarshal(line, &e.stats)
	}
	return e, err
}

func (h *helper) readAll(lines *bufio.Reader) {
	for {
		e, err := read(lines)
		if err != nil {
			if err != io.EOF { // it does not speak the protocol
				h.child.Process.Kill()
			}
			break
		}
		h.mutex.Lock()
		h.handle(e)
		h.mutex.Unlock()
	}
	h.child.Wait()
	h.mutex.Lock()
	h.ended = &Error{"HF_EDOWN", "the helper has ended: " + h.child.ProcessState.String()}
	for _, lock := range h.locks {
		h.lose(lock, h.ended.Error())
	}
	for id := range h.pending {
		text, code := h.ended.Error(), ErrDown.Code
		h.reply(event{Event: "failed", ID: id, Error: &code, Text: text})
	}
	h.timer.Stop()
	h.mutex.Unlock()
	close(h.done)
}

// With the mutex held, as all that follow.
func (h *helper) handle(e event) {
	switch e.Event {
	case "entry":
		if q := h.pending[e.ID]; q != nil {
			q.places = append(q.places, e.places...)
		}
		return
	case "held":
		h.renew(e)
		if q := h.pending[e.ID]; q != nil {
			h.grant(q.lock, e)
		}
	case "renewed":
		h.renew(e)
	case "lost":
		if lock := h.locks[e.Lock]; lock != nil {
			h.lose(lock, "\""+lock.Name+"\" was lost: "+e.Why)
		}
	case "asked":
		if lock := h.locks[e.Lock]; lock != nil {
			select {
			case lock.asked <- e.Reason:
			default: // nobody listens
			}
		}
	}
	if e.ID != 0 {
		h.reply(e)
	}
}

func (h *helper) reply(e event) {
	if q := h.pending[e.ID]; q != nil {
		delete(h.pending, e.ID)
		e.places = q.places
		q.answer <- e
	}
}

func (h *helper) grant(lock *Lock, e event) {
	fmt.Sscan(e.Token, &lock.Token)
	if e.Slot != nil {
		lock.Slot = *e.Slot
	}
	h.locks[lock.id] = lock
}

func (h *helper) lose(lock *Lock, text string) {
	if lock.lost == nil {
		lock.lost = &Error{ErrLost.Code, text}
	}
	lock.cancel()
}

func (h *helper) renew(e event) {
	h.deadline = math.MaxInt64
	if e.BoottimeMs != nil {
		h.deadline = *e.BoottimeMs
		h.timer.Reset(time.Duration(h.deadline-boottimeMs())*time.Millisecond + time.Millisecond)
	}
}

// The helper may be stopped, and says nothing then.
func (h *helper) expire() {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	if boottimeMs() < h.deadline {
		return
	}
	for _, lock := range h.locks {
		h.lose(lock, "the time of \""+lock.Name+"\" is over")
	}
}

// Counts while the machine sleeps.
func boottimeMs() int64 {
	const clockBoottime = 7
	var now syscall.Timespec
	syscall.Syscall(syscall.SYS_CLOCK_GETTIME, clockBoottime, uintptr(unsafe.Pointer(&now)), 0)
	return now.Nano() / 1e6
}

// ---- Without the mutex ----

// The lock is that of an acquire, or nil.
func (h *helper) send(request map[string]any, lock *Lock) (<-chan event, error) {
	answer, err := h.expect(request, lock)
	if err != nil {
		return nil, err
	}
	line, err := json.Marshal(request)
	h.writing.Lock()
	defer h.writing.Unlock()
	if err == nil {
		h.stdin.Write(append(line, '\n')) // if that fails, the end follows
	}
	return answer, err
}

// Gives the request its id.
func (h *helper) expect(request map[string]any, lock *Lock) (<-chan event, error) {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	if h.ended != nil {
		return nil, h.ended
	}
	h.next++
	request["id"] = h.next
	if lock != nil {
		lock.id = h.next
	}
	answer := make(chan event, 1)
	h.pending[h.next] = &question{answer: answer, lock: lock}
	return answer, nil
}

func (h *helper) ask(ctx context.Context, request map[string]any) (event, error) {
	answer, err := h.send(request, nil)
	if err != nil {
		return event{}, err
	}
	select {
	case e := <-answer:
		return e, e.err()
	case <-ctx.Done():
		return event{}, ctx.Err()
	}
}

func (h *helper) acquire(ctx context.Context, name string, request map[string]any) (*Lock, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	lock := &Lock{Name: name, Slot: -1, helper: h, asked: make(chan string, 1)}
	lock.ctx, lock.cancel = context.WithCancel(ctx)
	answer, err := h.send(request, lock)
	if err != nil {
		lock.cancel()
		return nil, err
	}
	select {
	case e := <-answer:
		if err := e.err(); err != nil {
			lock.cancel()
			return nil, err
		}
		return lock, nil
	case <-ctx.Done(): // waiting or granted meanwhile: release ends both
		h.release(lock)
		return nil, ctx.Err()
	}
}

func (h *helper) release(lock *Lock) error {
	answer, err := h.send(map[string]any{"op": "release", "lock": lock.id}, nil)
	if err == nil {
		e := <-answer
		err = e.err()
	}
	h.mutex.Lock()
	defer h.mutex.Unlock()
	delete(h.locks, lock.id)
	lock.cancel()
	if lock.lost != nil {
		return lock.lost
	}
	if failed, ok := err.(*Error); ok && failed.Code == "HF_ENOTFOUND" {
		return ErrReleased
	}
	return err
}

func (h *helper) askAbout(ctx context.Context, lock *Lock, op string) error {
	_, err := h.ask(ctx, map[string]any{"op": op, "lock": lock.id})
	h.mutex.Lock()
	defer h.mutex.Unlock()
	if lock.lost != nil {
		return lock.lost
	}
	return err
}

func (h *helper) left(lock *Lock) time.Duration {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	left := h.deadline
	if left != math.MaxInt64 {
		left -= boottimeMs()
	}
	if h.locks[lock.id] == nil || lock.lost != nil || left <= 0 {
		return 0
	}
	if left > math.MaxInt64/int64(time.Millisecond) {
		return math.MaxInt64
	}
	return time.Duration(left) * time.Millisecond
}

func (h *helper) close() error {
	h.stdin.Close()
	<-h.done
	if code := h.child.ProcessState.ExitCode(); code != 0 {
		return fmt.Errorf("holdfast: the helper has ended: %s", h.child.ProcessState)
	}
	return nil
}
