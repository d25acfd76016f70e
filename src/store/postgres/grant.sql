-- The rights that a role needs to use locks.  To break locks it needs break_place as well.
GRANT USAGE ON SCHEMA holdfast TO :"role";
GRANT EXECUTE ON FUNCTION
    holdfast.hello, holdfast.renew, holdfast.messages, holdfast.reclaim, holdfast.bye,
    holdfast.expire_silent, holdfast.sweep, holdfast.enter, holdfast.leave, holdfast.read,
    holdfast.downgrade, holdfast.watch, holdfast.ask, holdfast.verify, holdfast.list,
    holdfast.overview, holdfast.watch_store, holdfast.keep_history, holdfast.history, holdfast.fence
    TO :"role";
