package holdfast

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"sync"
	"syscall"
	"testing"
	"time"
)

var background = context.Background()

// A client in a store of this test alone.
func open(t *testing.T) *Client {
	t.Helper()
	return openURL(t, "sqlite:"+filepath.Join(t.TempDir(), "locks.db"))
}

func openURL(t *testing.T, url string) *Client {
	t.Helper()
	t.Setenv("HOLDFAST_URL", url)
	client, err := Open(Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { client.Close() })
	return client
}

func hold(t *testing.T, client *Client, options ...Option) *Lock {
	t.Helper()
	lock, err := client.Lock(background, "a", options...)
	if err != nil {
		t.Fatal(err)
	}
	return lock
}

func expect(t *testing.T, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Fatalf("%v, not %v", err, want)
	}
}

func until(t *testing.T, what string, condition func() bool) {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); !condition(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("waited in vain until " + what)
		}
	}
}

func places(t *testing.T, client *Client) []Place {
	t.Helper()
	found, err := client.List(background, "a")
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func TestExclusionAndTokens(t *testing.T) {
	client := open(t)
	first := hold(t, client)
	_, err := client.Lock(background, "a", Try())
	expect(t, err, ErrBusy)
	short, cancel := context.WithTimeout(background, 20*time.Millisecond)
	defer cancel()
	_, err = client.Lock(short, "a")
	expect(t, err, context.DeadlineExceeded)
	expect(t, first.Check(background), nil)
	expect(t, client.Verify(background, "a", first.Token), nil)
	if first.Left() < time.Hour {
		t.Fatal("in a file there is no deadline")
	}
	expect(t, first.Unlock(), nil)
	expect(t, first.Unlock(), ErrReleased)
	expect(t, client.Verify(background, "a", first.Token), ErrLost)
	if first.Context().Err() == nil || first.Left() != 0 {
		t.Fatal("a released lock is not held")
	}
	second := hold(t, client)
	if second.Token <= first.Token {
		t.Fatal("tokens rise")
	}
	expect(t, second.Unlock(), nil)
	if found := places(t, client); len(found) != 0 {
		t.Fatal(found)
	}
}

func TestManyGoroutines(t *testing.T) {
	client := open(t)
	var all sync.WaitGroup
	inside, turns := 0, 0
	for i := 0; i < 100; i++ {
		all.Add(1)
		go func() {
			defer all.Done()
			err := client.Do(background, "a", func(ctx context.Context, lock *Lock) error {
				inside++
				turns++
				if inside != 1 {
					return errors.New("not alone")
				}
				inside--
				return nil
			})
			if err != nil {
				t.Error(err)
			}
		}()
	}
	all.Wait()
	if turns != 100 {
		t.Fatal(turns)
	}
}

func TestKinds(t *testing.T) {
	client := open(t)
	one, two := hold(t, client, Shared()), hold(t, client, Shared())
	_, err := client.Lock(background, "a", Exclusive(), Try())
	expect(t, err, ErrBusy)
	_, err = client.Lock(background, "a", Try())
	expect(t, err, ErrMismatch)
	expect(t, one.Unlock(), nil)
	expect(t, two.Unlock(), nil)
	writer := hold(t, client, Exclusive(), Note("mine"))
	expect(t, writer.Downgrade(background), nil)
	if found := places(t, client); len(found) != 1 || found[0].Note != "mine" || found[0].Kind != "reader" {
		t.Fatal(found)
	}
	expect(t, writer.Unlock(), nil)
	slot := hold(t, client, Slots(2), Weight(2))
	if slot.Slot != 0 {
		t.Fatal(slot.Slot)
	}
	_, err = client.Lock(background, "a/b")
	expect(t, err, &Error{Code: "HF_EINVAL"})
}

func TestLossAndAsking(t *testing.T) {
	client := open(t)
	lock := hold(t, client)
	count, err := client.Ask(background, "a", "please")
	expect(t, err, nil)
	if reason := <-lock.Asked(); reason != "please" || count != 1 {
		t.Fatal(reason, count)
	}
	expect(t, client.Break(background, "a", lock.Token), nil)
	<-lock.Context().Done()
	expect(t, lock.Check(background), ErrLost)
	expect(t, lock.Unlock(), ErrLost)
	counts, err := client.Stats(background)
	expect(t, err, nil)
	if counts.Acquired != 1 || counts.Lost != 1 || counts.Broken != 1 || counts.Released != 0 ||
		counts.Hold.Count != 1 || counts.LeastLeftMs != nil {
		t.Fatal(counts)
	}
}

func TestKilledHelper(t *testing.T) {
	client := open(t)
	lock := hold(t, client)
	client.helper.child.Process.Kill()
	<-lock.Context().Done()
	expect(t, lock.Unlock(), ErrLost)
	_, err := client.Lock(background, "a")
	expect(t, err, ErrDown)
}

func TestBadStore(t *testing.T) {
	_, err := Open(Options{URL: "nonsense://x"})
	expect(t, err, &Error{Code: "HF_EUNSUPPORTED"})
	t.Setenv("HOLDFAST_URL", "")
	if _, err = Open(Options{}); err == nil {
		t.Fatal("no store is named")
	}
	t.Setenv("HOLDFAST_URL", "sqlite:")
	_, err = Open(Options{Command: "/no/such/file"})
	if err == nil {
		t.Fatal("there is no such command")
	}
}

func TestCommandThatIsAnother(t *testing.T) {
	hello := `echo '{"event":"hello","protocol":1}'; `
	for _, script := range []string{"exec yes", hello + "exec yes", hello + "echo {; exec cat"} {
		command := filepath.Join(t.TempDir(), "command")
		if err := os.WriteFile(command, []byte("#!/bin/sh\n"+script+"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
		client, err := Open(Options{Command: command})
		if err != nil {
			continue
		}
		if _, err = client.Lock(background, "a"); err == nil {
			t.Fatal(script + ": a lock")
		}
		client.Close()
	}
}

func TestQueueWithTheCommand(t *testing.T) {
	client := open(t)
	lock := hold(t, client)
	other := exec.Command(os.Getenv("HOLDFAST_COMMAND"), "run", "a", "--", "true")
	expect(t, other.Start(), nil)
	until(t, "the command waits", func() bool { return len(places(t, client)) == 2 })
	expect(t, lock.Unlock(), nil)
	expect(t, other.Wait(), nil)
}

// On a server: test/server/redis.py says where.
func TestStoppedHelper(t *testing.T) {
	address := os.Getenv("HF_REDIS_ADDRESS")
	if address == "" {
		t.Skip("no Redis here")
	}
	client := openURL(t, fmt.Sprintf("redis://%s?ttl=2s", address))
	lock := hold(t, client)
	if left := lock.Left(); left <= 0 || left > 2*time.Second {
		t.Fatal(left)
	}
	begin := time.Now()
	until(t, "a lease is over", func() bool { return time.Since(begin) > 3*time.Second })
	expect(t, lock.Context().Err(), nil)
	client.helper.child.Process.Signal(syscall.SIGSTOP)
	<-lock.Context().Done()
	if lock.Left() != 0 {
		t.Fatal("its time is over")
	}
	client.helper.child.Process.Signal(syscall.SIGCONT)
	expect(t, lock.Unlock(), ErrLost)
}

// More answers than the helper queues, while requests are still being written.
func TestMoreThanFits(t *testing.T) {
	client := open(t)
	lock := hold(t, client)
	var all sync.WaitGroup
	for i := 0; i < 3000; i++ {
		all.Add(1)
		go func() {
			defer all.Done()
			_, err := client.Lock(background, fmt.Sprintf("a/%0200d", 0))
			if !errors.Is(err, &Error{Code: "HF_EINVAL"}) {
				t.Error(err)
			}
			if _, err := client.List(background, ""); err != nil {
				t.Error(err)
			}
		}()
	}
	all.Wait()
	expect(t, lock.Unlock(), nil)
}

// The program of docs/go.md, as it stands.
func TestProgramOfThePage(t *testing.T) {
	page, err := os.ReadFile("../../docs/go.md")
	expect(t, err, nil)
	block := regexp.MustCompile("(?s)```go\n(.*?)```").FindSubmatch(page)
	folder := t.TempDir()
	here, _ := os.Getwd()
	module := "module report\nrequire holdfast v0.0.0\nreplace holdfast => " + here + "\n"
	expect(t, os.WriteFile(filepath.Join(folder, "main.go"), block[1], 0o600), nil)
	expect(t, os.WriteFile(filepath.Join(folder, "go.mod"), []byte(module), 0o600), nil)
	run := exec.Command("go", "run", ".")
	run.Dir = folder
	run.Env = append(os.Environ(), "HOLDFAST_URL=sqlite:"+filepath.Join(folder, "locks.db"))
	out, err := run.CombinedOutput()
	if err != nil || string(out) != "writing the report, true\nsending it\n" {
		t.Fatal(err, string(out))
	}
}
