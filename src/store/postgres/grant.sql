-- What a role needs to use locks, and no more.  To break a lock it needs break_place as well.
GRANT USAGE ON SCHEMA holdfast TO :"role";
GRANT EXECUTE ON FUNCTION
    holdfast.hello, holdfast.renew, holdfast.news, holdfast.mend, holdfast.bye,
    holdfast.bury_silent, holdfast.sweep, holdfast.enter, holdfast.leave, holdfast.read,
    holdfast.amend, holdfast.watch, holdfast.ask, holdfast.prove, holdfast.list, holdfast.look,
    holdfast.survey, holdfast.keep_history, holdfast.history, holdfast.fence
    TO :"role";
