#!/usr/bin/env -S python3 -B
"""mutex.py - one mutex, shared by processes with Curator, kazoo and Holdfast.

HF_TURNS: how many turns they take in total (200).
"""
import re

from peers import *

KINDS = ("curator", "kazoo", "holdfast")
TURNS = int(os.environ.get("HF_TURNS", "200"))


@case
def nine_processes_take_turns(t):
    scene = Scene(t)
    file = scene.numbers(0)
    peers = [scene.peer(kind, "turns", TURNS, file) for kind in KINDS * 3]
    had = scene.together(peers)
    print("# turns had:", ", ".join(f"{peer.kind} {turns}" for peer, turns in zip(peers, had)))
    t.equal(sum(had), TURNS, "turns in all")
    t.equal(int(file.read_text()), TURNS, "the counter")
    t.true(min(had) > 0, "a process never had a turn")


@case
def nodes_have_curators_names(t):
    scene = Scene(t)
    holder = scene.holds("holdfast")
    waiter = scene.joins("holdfast")
    for number, name in enumerate(scene.nodes()):
        t.true(re.fullmatch(f"_c_{UUID}-lock-{number:010d}", name), name)
        data, stat = scene.node(name)
        pid = (holder, waiter)[number].process.pid
        t.true(b"pid=%d " % pid in data and data.endswith(b" note=from%20peer"), f"{data!r}")
        t.true(stat.owner != 0, "not ephemeral")
    holder.release()
    waiter.until_says("held")
    waiter.release()
    t.equal(scene.nodes(), [])


@case
def first_come_first_served_across_libraries(t):
    scene = Scene(t)
    line = [scene.holds("kazoo")]
    for kind in ("holdfast", "curator", "holdfast", "kazoo", "curator", "kazoo", "holdfast"):
        line.append(scene.joins(kind))
    while len(line) > 1:
        scene.nobody_else(line[1:], 0.1)
        line.pop(0).release()
        line[0].until_says("held")
    line[0].release()


@case
def a_held_lock_is_busy_for_all(t):
    scene = Scene(t)
    for holder in KINDS:
        peer = scene.holds(holder)
        for kind in KINDS:
            t.true(not scene.can(kind, "try"), f"{kind} got it from {holder}: {scene.nodes()}")
        peer.release()
    for kind in KINDS:
        t.true(scene.can(kind, "try"), f"{kind} cannot have a free lock: {scene.nodes()}")


def a_holder_dies(t, kind, heir):
    """Its place goes with its session, and nobody gets the lock before that."""
    scene = Scene(t)
    holder = scene.holds(kind, session=SHORT)
    place = scene.nodes()[0]
    waiter = scene.joins(heir)
    holder.kill()
    scene.gone_before_held(place, [waiter])
    waiter.release()


@case
def the_lock_of_a_dead_holder_passes_on_after_its_session(t):
    for kind, heir in (("curator", "holdfast"), ("kazoo", "holdfast"),
                       ("holdfast", "curator"), ("holdfast", "kazoo")):
        a_holder_dies(t, kind, heir)


@case
def a_waiter_that_dies_lets_nobody_in(t):
    for dying, behind in (("holdfast", ("curator", "kazoo", "holdfast")),
                          ("curator", ("holdfast", "kazoo")), ("kazoo", ("holdfast", "curator"))):
        scene = Scene(t)
        holder = scene.holds("curator")
        victim = scene.joins(dying, session=SHORT)
        place = scene.nodes()[1]
        waiters = [scene.joins(kind) for kind in behind]
        victim.kill()
        t.until("its place is gone", lambda: place not in scene.nodes(), PATIENCE)
        scene.nobody_else(waiters)
        holder.release()
        while waiters:
            waiters[0].until_says("held")
            scene.nobody_else(waiters[1:], 0.1)
            waiters.pop(0).release()


@case
def holdfast_ask_reaches_a_curator_holder(t):
    scene = Scene(t)
    holder = scene.holds("curator", "holdrevocable")
    t.equal(t.run("ask", "a").err, 'holdfast: asked 1 holder of "a"\n')
    holder.until_says("asked")
    t.equal(len(scene.nodes()), 1, "places")
    holder.release()


@case
def curators_revoker_reaches_a_holdfast_holder(t):
    scene = Scene(t)
    holder = scene.holds("holdfast")
    waiter = scene.joins("curator")
    scene.peer("curator", "revoke").ends()
    holder.until_says("asked")
    scene.nobody_else([waiter])
    holder.release()
    waiter.until_says("held")
    waiter.release()


@case
def show_lists_all_libraries(t):
    scene = Scene(t)
    line = [scene.holds("curator"), scene.joins("kazoo"), scene.joins("holdfast")]
    shown = t.show("a")
    t.equal(len(shown["holders"]), 1, "holders")
    t.equal(len(shown["waiters"]), 2, "waiters")
    t.equal(shown["waiters"][1]["pid"], line[2].process.pid, "pid of the last")
    for peer in line:
        peer.until_says("held")
        peer.release()


@case
def style_kazoo_works_with_unchanged_kazoo(t):
    scene = Scene(t, style="kazoo")
    holder = scene.holds("holdfast")
    t.true(re.fullmatch("[0-9a-f]{32}__lock__0000000000", scene.nodes()[0]), scene.nodes()[0])
    t.true(not scene.can("kazoo", "try"), "kazoo got it too")
    holder.release()
    file = scene.numbers(0)
    had = scene.together([scene.peer(kind, "turns", TURNS, file) for kind in KINDS[1:] * 2])
    t.equal((sum(had), int(file.read_text())), (TURNS, TURNS), "turns, counter")


play()
