/* holdfast.hpp - holdfast.h for C++17: locks shared by many processes.
 *
 *     holdfast::client client;                        // your own file of locks
 *     holdfast::mutex  nightly(client, "nightly-report");
 *
 *     holdfast::guard hold(nightly, 5s);              // throws timed_out
 *     write_report(hold.token());
 *     hold.release();                                 // throws lock_lost
 *
 * A header and nothing else: link with -lholdfast.  What the calls mean stands in
 * holdfast.h; here stands what C++ adds.
 *
 * Failures.  A call throws holdfast::error, or has another form with a std::error_code & at
 * the end, which is set and throws nothing; but for lock(), try_lock() and its like, and
 * with_lock().  Without exceptions (-fno-exceptions) there are only the latter.  message() tells a person about the last failure of this thread.
 *
 * Locks of the standard library.  All kinds of locks have lock, try_lock, try_lock_for,
 * try_lock_until and unlock, so that std::unique_lock and std::scoped_lock work.  Those
 * cannot tell you that a lock was lost: unlock() must not throw.  last_unlock() tells
 * after it; holdfast::guard and holdfast::with_lock() tell by themselves.  std::lock, and
 * std::scoped_lock of several, are right but not fair: they try, and who tries never
 * queues.  all_of queues for each of its locks, and is what you want.
 *
 * Lifetimes.  Everything can be moved, also while it is held, and nothing copied.  What was
 * moved from, or whose constructor has set an error, is empty: it may be assigned to,
 * destroyed and tested with `if (lock)`.  Calls on an empty client, lock or election fail
 * with errc::invalid; what an empty lock tells is that nobody wants it, and its unlock() does
 * nothing.  An empty shared_mutex must not be called.  A lock keeps its client's session alive, and a
 * guard its lock: they may be destroyed in any order, but the last of them not inside a
 * callback.
 *
 * Threads.  As in holdfast.h: a handle belongs to the thread that acquired it, which may
 * acquire it again.  To release in another one, by a guard that was moved there, call
 * set_any_thread(true) first.  Objects are moved and destroyed by one thread while no other uses
 * them.
 *
 * Callbacks are std::functions.  If one throws, options::on_exception gets the exception;
 * without that, std::terminate() is called, as for a std::thread.
 */
#ifndef HOLDFAST_HPP
#define HOLDFAST_HPP

#include "holdfast/client.hpp"
#include "holdfast/election.hpp"
#include "holdfast/guard.hpp"
#include "holdfast/kinds.hpp"
#include "holdfast/shared_mutex.hpp"

#endif
