package holdfast

// Error is a failure.  Code is a name of enum hf_error in holdfast.h.
type Error struct {
	Code string
	Text string
}

func (e *Error) Error() string { return "holdfast: " + e.Text + " (" + e.Code + ")" }

// Is compares codes, for errors.Is().
func (e *Error) Is(target error) bool {
	other, ok := target.(*Error)
	return ok && other.Code == e.Code
}

// For errors.Is().
var (
	ErrLost     = &Error{"HF_ELOST", "the lock was lost"}
	ErrBusy     = &Error{"HF_EBUSY", "somebody else has the lock"}
	ErrDown     = &Error{"HF_EDOWN", "the store cannot be reached"}
	ErrFull     = &Error{"HF_EFULL", "too many wait, or the store has no room"}
	ErrMismatch = &Error{"HF_EMISMATCH", "others use the name as another kind of lock"}
	ErrReleased = &Error{"HF_ESTATE", "the lock was released"}
)
