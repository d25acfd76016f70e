/* fence.pml - a resource that checks tokens, and holders that were asleep.
 *
 * NC holders, each with a higher token than the one before, add one to a counter: read, then
 * write.  Any of them may have lost the lock without noticing, so they overlap in every way, and
 * each may die anywhere.  The resource keeps the highest token it has seen, the mark.
 *
 * Shown: no addition gets lost.  CLAIM is a resource that is asked three times; TRANSACTION is
 * holdfast.fence(), which locks its row until the transaction ends, and undoes the mark if it fails.
 *
 * Assumed: a resource carries out one request at a time.  Left out: holders that share a lock,
 * whose lower tokens fence() accepts while their places are granted.
 *
 * good: CLAIM NC=3
 * good: TRANSACTION NC=3
 * broken NO_FENCE NC=2: the resource takes every write
 * broken WRITES_ONLY NC=2: the token is checked with the write alone
 * broken READ_FIRST TRANSACTION NC=2: the transaction reads before it calls fence()
 *
 * actions
 *     fence      fence in src/store/postgres/schema.sql
 *
 * of the model alone: write
 */
#ifndef NC
#define NC 2
#endif

byte value;    /* of the counter */
byte added;    /* additions that the resource has accepted */
byte mark;     /* the highest token seen */
byte row_of;   /* TRANSACTION: whose transaction has locked the mark; 0: none */

/* Accepted unless a higher token has been here. */
inline fence(token) {
    if
    :: token >= mark -> mark = token
    :: else -> goto refused
    fi
}

inline write() {
    value = seen + 1;
    added++;
    assert(value == added)
}

proctype holder(byte token)
{
    byte seen, before;

#ifdef TRANSACTION
#ifdef READ_FIRST
    seen = value;
#endif
    atomic { row_of == 0 -> row_of = token; before = mark; fence(token) }
#ifndef READ_FIRST
    seen = value;
#endif
    if
    :: atomic { write(); row_of = 0; before = 0 }   /* it commits */
    :: atomic { mark = before; row_of = 0; before = 0 } /* it dies: rolled back */
    fi;
    goto done;
refused:
    atomic { row_of = 0; before = 0 }
#else
#ifdef CLAIM
    atomic { fence(token) }
#endif
    if :: seen = value :: goto done fi; /* or it dies */
    if
    :: atomic {
#ifndef NO_FENCE
           fence(token);
#endif
           write()
       }
    :: goto done
    fi;
refused:
    skip;
#endif
done:
    skip
}

init {
    byte i = 1;

    atomic {
        do
        :: i <= NC -> run holder(i); i++
        :: else -> break
        od
    }
}
