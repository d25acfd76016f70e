/* holdfast.hpp - holdfast.h for C++17: locks shared by many processes.
 *
 *     holdfast::client client;                        // your own file of locks
 *     holdfast::mutex  nightly(client, "nightly-report");
 *
 *     holdfast::guard hold(nightly, 5s);              // throws timed_out
 *     write_report(hold.token());
 *     hold.release();                                 // throws lock_lost
 *
 * Header-only: link with -lholdfast.  holdfast.h explains the calls; this comment
 * explains what C++ adds.
 *
 * Failures.  A call throws holdfast::error.  Most calls have a second form with a
 * std::error_code & as the last argument, which is set and throws nothing; lock(),
 * try_lock() and the like, and with_lock() have not.  Without exceptions
 * (-fno-exceptions) only the second form exists.  message() explains the last failure
 * of this thread to a person.
 *
 * Locks of the standard library.  All kinds of locks have lock, try_lock, try_lock_for,
 * try_lock_until and unlock, so that std::unique_lock and std::scoped_lock work.  These
 * cannot report that a lock was lost, because unlock() must not throw: call
 * last_unlock() afterwards.  holdfast::guard and holdfast::with_lock() report it by
 * themselves.  std::lock, and std::scoped_lock of several locks, are correct but not
 * fair: they try, and a try never queues.  all_of queues for each of its locks: prefer
 * it.
 *
 * Lifetimes.  Everything can be moved, even while it is held, and nothing copied.  An
 * object that was moved from, or whose constructor has set an error, is empty: it may
 * be assigned to, destroyed and tested with `if (lock)`.  Calls on an empty client,
 * lock or election fail with errc::invalid; an empty lock is idle, and its unlock()
 * does nothing.  An empty shared_mutex must not be called.  A lock keeps its client's
 * session alive, and a guard its lock: they may be destroyed in any order, but the last
 * of them not inside a callback.
 *
 * Threads.  As in holdfast.h: a handle belongs to the thread that acquired it, which
 * may acquire it again.  To release it in another thread, by a guard that was moved
 * there, call set_any_thread(true) first.  Only one thread may move or destroy an
 * object, while no other uses it.
 *
 * Callbacks are std::functions.  If one throws, options::on_exception gets the exception;
 * without that, std::terminate() is called, as for a std::thread.
 */
#ifndef HOLDFAST_HPP
#define HOLDFAST_HPP

#include "holdfast/client.hpp"
#include "holdfast/election.hpp"
#include "holdfast/fence.hpp"
#include "holdfast/guard.hpp"
#include "holdfast/kinds.hpp"
#include "holdfast/shared_mutex.hpp"

#endif
