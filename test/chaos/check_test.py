#!/usr/bin/env -S python3 -B
"""check_test.py - check.py finds every violation that is forged into a good history, and none in good
ones."""
import json
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
import check  # noqa: E402
import figures  # noqa: E402
from story import MS, Story, case, equal, finds, good, main  # noqa: E402

BUILD = sys.argv[1:2]  # a build tree


# ---- Good ones ------------------------------------------------------------------------------------


@case
def a_good_history():
    finds(good())


@case
def a_release_may_return_after_the_next_grant():
    finds(Story().turn("A", 1, 0, 1, 10, 9).turn("B", 1, 2, 9.2, 11, 12).end(40, "A", "B"))


@case
def a_killed_holder():
    finds(Story().turn("A", 1, 0, 1, 10, None, last=5).turn("B", 1, 2, 5.1, 11, 12).end(6, "A").end(40, "B"))


@case
def a_holder_that_is_stopped_until_its_deadline_is_over():
    finds(Story().turn("A", 1, 0, 1, 10, 90, result="HF_ELOST", deadline=50, last=3, lost=89)
          .turn("B", 1, 2, 50, 11, 60).end(99, "A", "B"))


@case
def a_stopped_holder_is_refused_by_the_fence():
    finds(Story().turn("A", 1, 0, 1, 10, 90, result="HF_ELOST", deadline=50, last=3, lost=89)
          .turn("B", 1, 2, 50, 11, 60, writes=(55,)).write(88, "A", 1, 10, ok=False).end(99, "A", "B"))


@case
def a_grant_that_is_too_late_when_it_is_seen():
    finds(Story().turn("B", 1, 0, 50, 10, 51, result="HF_ELOST", deadline=50)
          .turn("A", 1, 2, 40, 11, 60).end(99, "A", "B"))


@case
def readers_share_and_slots_are_three():
    finds(Story().turn("A", 1, 0, 1, 10, 30, kind="reader").turn("B", 1, 0, 1, 11, 30, kind="reader")
          .turn("C", 1, 2, 31, 12, 40, kind="writer")
          .turn("A", 2, 40, 41, 5, 50, kind="semaphore", lock="s")
          .turn("B", 2, 40, 41, 6, 50, kind="heavy", lock="s").end(99, "A", "B", "C"))


@case
def wants_that_overlap_may_go_either_way():
    finds(Story().turn("A", 1, 0, 1, 10, 5).turn("C", 1, 2, 6, 11, 8, place=4)
          .turn("B", 1, 3, 9, 12, 12, place=5).end(99, "A", "B", "C"))


@case
def a_lost_session_queues_again():
    finds(Story().turn("B", 1, 0, 20, 12, 30, place=1, requeued=True).turn("A", 1, 2, 3, 10, 19)
          .end(99, "A", "B"))


@case
def a_set_has_all_that_was_acknowledged():
    finds(good().change(8, "A", 1).change(19, "B", 1).change(29, "C", 1, ok=False).set("A/1", "B/1"))


@case
def a_lock_without_tokens():
    finds(Story().turn("A", 1, 0, 1, None, 9).turn("B", 1, 2, 10, None, 12).end(40, "A", "B"))


# ---- Breaks -----------------------------------------------------------------------------------------


def broken(at, **more):
    """A works until it hears that it was broken, at 9; B is granted the lock at 6."""
    return (Story().turn("A", 1, 0, 1, 10, 9.5, result="HF_ELOST", deadline=50, last=8, lost=9)
            .turn("B", 1, 2, 6, 11, 20).breaks(at, **({"token": 10, "victim": "A"} | more)).end(99, "A", "B"))


@case
def a_broken_holder_goes_on_until_it_hears_of_it():
    finds(broken(5))
    finds(broken(5, ended=30, result="HF_EDOWN"))  # nobody knows whether it was carried out


@case
def a_grant_before_the_break():
    finds(broken(6.5), "overlap")


@case
def a_break_of_another_place():
    finds(broken(5, token=9), "overlap")
    finds(broken(5, lock="b"), "overlap")


@case
def a_broken_holder_is_refused_by_the_fence():
    finds(broken(5).write(7, "B", 1, 11).write(7.5, "A", 1, 10, ok=False))
    finds(broken(5).write(4, "A", 1, 10, ok=False), "fence")
    finds(broken(5).write(7, "B", 1, 11).write(7.5, "A", 1, 10), "fence")


@case
def a_release_after_a_break():
    def story(release, **more):
        return (Story().turn("A", 1, 0, 1, 10, release, deadline=50)
                .breaks(5, 10, "A", **more).end(99, "A"))

    finds(story(7), "truth")
    finds(story(5.2))  # which of them was first?
    finds(story(7, result="HF_ENOTFOUND"))
    finds(story(7, result="HF_EDOWN"))


@case
def a_release_that_succeeds_though_another_was_granted_the_broken_lock():
    finds(Story().turn("A", 1, 0, 1, 10, 9, deadline=50).turn("B", 1, 2, 6, 11, 20)
          .breaks(5, 10, "A", result="HF_EDOWN").end(99, "A", "B"), "truth")


@case
def a_break_that_was_lost_with_the_data():
    """A comes back first, keeps the lock, and releases it; B is told that it has lost it."""
    def story(at, until, result="HF_ELOST", lease=4, **more):
        return (Story().turn("A", 1, 0, 1, 10, 20, deadline=50)
                .turn("B", 1, 2, 6, 11, 15, result=result, deadline=50, lost=None if result == "0" else 14)
                .breaks(5, 10, "A").add(at, "fault", "", on="store", kind="emptied", until=int(until * MS),
                                              lease=int(lease * MS), **more)
                .end(99, "A", "B"))

    finds(story(8, 9, forgets=9 * MS))
    finds(story(3, 4, forgets=10 * MS))  # a failover takes its time
    finds(story(8, 9, result="0", forgets=9 * MS), "truth")  # both came back
    finds(story(8, 9, result="0", lease=7, forgets=9 * MS))  # B released it before A came back
    finds(story(14, 16, result="0", lease=10, forgets=16 * MS))  # B may have released it before the loss
    finds(story(14, 16, lease=8, forgets=16 * MS), "truth")  # A should have heard of the break before it
    finds(story(8, 9, forgets=9 * MS).turn("C", 1, 3, 17, 12, 18, result="HF_ELOST", deadline=50).end(99, "C"),
          "truth")  # granted beside A, which had come back
    finds(story(8, 9), "truth")
    finds(story(3, 4, forgets=4 * MS), "truth")  # before the break
    finds(story(21, 22, forgets=22 * MS), "truth")  # after the release


@case
def a_waiter_whose_place_was_broken_queues_again():
    def story(at, victim):
        return (Story().turn("A", 1, 0, 1, 10, 5).turn("C", 1, 4, 6, 12, 8).turn("B", 1, 2, 9, 13, 12, place=3)
                .breaks(at, 11, victim).end(99, "A", "B", "C"))

    finds(story(3.5, "B"))
    finds(story(3.5, "C"), "order")
    finds(story(1, "B"), "order")
    finds(story(10, "B"), "order")


# ---- Forged ones ------------------------------------------------------------------------------------


@case
def two_holders():
    finds(good().turn("D", 1, 7, 29, 13, 35).end(99, "D"), "overlap", "truth")


@case
def a_grant_before_the_deadline_of_a_stopped_holder():
    finds(Story().turn("A", 1, 0, 1, 10, 90, result="HF_ELOST", deadline=50, last=3, lost=89)
          .turn("B", 1, 2, 49, 11, 60).end(99, "A", "B"), "overlap")


@case
def a_grant_while_the_tree_of_a_killed_holder_still_runs():
    finds(Story().turn("A", 1, 0, 1, 10, None, last=5.2).turn("B", 1, 2, 5.1, 11, 12)
          .end(6, "A").end(40, "B"), "overlap")


@case
def a_writer_beside_a_reader():
    finds(Story().turn("A", 1, 0, 1, 10, 30, kind="reader").turn("B", 1, 2, 3, 11, 40, kind="writer")
          .end(99, "A", "B"), "overlap", "truth")


@case
def four_of_three_slots():
    finds(Story().turn("A", 1, 0, 1, 10, 30, kind="heavy").turn("B", 1, 2, 3, 11, 40, kind="heavy")
          .end(99, "A", "B"), "overlap", "truth")


@case
def a_token_that_falls():
    finds(good().turn("A", 2, 31, 32, 9, 35), "order", "tokens")


@case
def a_token_that_falls_though_both_waited():
    finds(Story().turn("A", 1, 0, 10, 7, 20).turn("B", 1, 0, 1, 8, 9).end(99, "A", "B"), "tokens")


@case
def the_token_of_a_reader_that_falls_behind_a_writer():
    finds(Story().turn("A", 1, 0, 10, 7, 20, kind="reader").turn("B", 1, 0, 1, 8, 9, kind="writer")
          .end(99, "A", "B"), "tokens")
    finds(Story().turn("A", 1, 0, 10, 7, 20, kind="reader").turn("B", 1, 0, 1, 8, 9, kind="reader")
          .end(99, "A", "B"))


@case
def a_token_that_is_used_twice():
    finds(good().turn("A", 2, 31, 32, 12, 35), "once", "tokens")


@case
def a_waiter_is_overtaken():
    finds(Story().turn("A", 1, 0, 1, 10, 5).turn("C", 1, 4, 6, 11, 8)
          .turn("B", 1, 2, 9, 12, 12, place=3).end(99, "A", "B", "C"), "order")


@case
def a_waiter_is_overtaken_while_no_order_is_promised():
    def story(until):
        return (Story().turn("A", 1, 0, 1, 10, 5).turn("C", 1, 4, 6, 11, 8).turn("B", 1, 2, 9, 12, 12, place=3)
                .add(5, "fault", "store", kind="failover", until=5 * MS, unordered=int(until * MS))
                .end(99, "A", "B", "C"))

    finds(story(7))
    finds(story(5.5), "order")


@case
def a_grant_ends_twice():
    finds(good().add(9.8, "release", "A", n=1, begun=9 * MS, result="0"), "once")


@case
def a_grant_is_given_twice():
    finds(good().add(1.5, "grant", "A", n=1, token=10, deadline=None, requeued=False), "once")


@case
def a_grant_that_never_ends():
    finds(good().turn("D", 1, 31, 32, 13, None, last=33), "once")


@case
def a_release_that_should_not_have_succeeded():
    """It was stopped and late, another had the lock since, and yet it was told that all is well."""
    finds(Story().turn("A", 1, 0, 1, 10, 70, deadline=50, last=3).turn("B", 1, 2, 55, 11, 60)
          .end(99, "A", "B"), "truth")


@case
def a_release_that_succeeds_after_the_loss():
    finds(Story().turn("A", 1, 0, 1, 10, 70, deadline=50, last=3, lost=60).end(99, "A"), "truth")


@case
def an_old_token_is_accepted():
    finds(good().write(29, "C", 1, 12).write(29.5, "A", 1, 10), "fence")


@case
def a_holder_is_refused():
    finds(good().write(25, "C", 1, 12, ok=False), "fence")


@case
def an_element_of_a_set_with_a_fence_is_missing():
    finds(good().change(8, "A", 1).change(19, "B", 1).set("B/1"), "set")
    finds(good().change(8, "A", 1), "set")  # there is no set at all
    finds(good().change(8, "A", 1).set("A/1", lock="b"), "set")


@case
def an_element_of_a_set_without_a_fence_is_counted():
    story = good().change(8, "A", 1, fenced=False).change(19, "B", 1, fenced=False).set("B/1")
    finds(story)
    equal([event["element"] for event in check.missing(story.events)], ["A/1"])
    row = figures.sum_up(story.events, [])
    equal((row["added"], row["missing"], row["added with a fence"]), (2, 1, 0))


@case
def two_holders_without_tokens():
    finds(Story().turn("A", 1, 0, 1, None, 9, result=None).turn("B", 1, 2, 8, None, 12, result=None)
          .end(40, "A", "B"), "overlap")


@case
def a_process_gets_no_lock_any_more():
    story = good().add(35, "healed", "").add(39, "waited", "", on="B")
    finds(story, "stuck")
    finds(story.turn("B", 2, 36, 37, 13, 38))


@case
def something_is_left_in_the_store():
    finds(good().add(50, "left", "", text="slot-1 of nobody"), "left")


@case
def a_process_crashes():
    finds(good().add(20, "crash", "B", status=-6), "crash")


# ---- Reading, and the table --------------------------------------------------------------------------


@case
def half_a_line_at_the_end_is_forgiven_and_nowhere_else():
    with tempfile.TemporaryDirectory() as name:
        path = pathlib.Path(name) / "a.jsonl"
        text = "".join(json.dumps(event) + "\n" for event in good().events)
        path.write_text(text + '{"t":12,"e":"gra')
        equal(len(check.read(name)), len(good().events))
        path.write_text('{"t":12,"e":"gra\n' + text)
        try:
            check.read(name)
        except ValueError as error:
            assert "a.jsonl:1" in str(error), error
        else:
            raise AssertionError("it was read")


@case
def last_instructions_and_sets_are_read():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "A.jsonl").write_text("".join(
            json.dumps(event) + "\n" for event in good().events if event["who"] == "A" and event["e"] != "last"))
        (folder / "A.last").write_bytes(check.LAST.pack(0, 0) + check.LAST.pack(8, check.NEVER) + bytes(160))
        (folder / "a.set").write_text("A/1\nB/1\n")
        equal([(event["n"], event["last"], event["deadline"]) for event in check.read(name)
               if event["e"] == "last"], [(1, 8, None)])
        equal(check.read(name)[-1]["elements"], ["A/1", "B/1"])


@case
def the_table():
    story = (Story().turn("A", 1, 0, 1, 10, None, last=5).turn("B", 1, 2, 7, 11, 12)
             .add(4, "fault", "", kind="killed", on="A", until=int(5 * MS)).end(6, "A").end(40, "B"))
    events = sorted(story.events, key=lambda event: event["t"])
    row = figures.sum_up(events, check.check(events))
    equal((row["hand-overs"], row["margin"], row["recovery"], dict(row["faults"]), dict(row["violations"])),
          (1, 2 * MS, [2 * MS], {"killed": 1}, {}))
    assert "| 2.0 | 2.0 | 2.0 |" in list(figures.table({"a": row}))[-1]


@case
def real_workers_on_a_store_that_excludes_nobody():
    if not BUILD:
        return
    done = subprocess.run([HERE / "run", *BUILD, "--store", "split", "--seconds", "2"], text=True,
                          stdout=subprocess.PIPE, check=False)
    assert done.returncode == 1 and "# overlap: " in done.stdout and "not ok 1" in done.stdout, done.stdout


if __name__ == "__main__":
    sys.exit(main())
