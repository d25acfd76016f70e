#!/usr/bin/env -S python3 -B
"""rwlock.py - one read/write lock, shared by processes with Curator or kazoo, and
Holdfast.

kazoo's readers take no part in cases where several processes may queue at once: a reader
of kazoo 2.8 also waits for writers behind it, which wait for it.  Curator's downgrade is
not tested: before 5.5 a waiting writer gets in between.

HF_TURNS: how often each process reads or writes (40).
"""
import re

from peers import *

ROUNDS = int(os.environ.get("HF_TURNS", "40"))


def readers_and_writers(t, scene, peers, file):
    writes = scene.together(peers)
    for peer in peers:
        t.true(not peer.said("torn"), f"{peer.kind} saw half a change")
    print("# writes:", ", ".join(f"{peer.kind} {count}" for peer, count in zip(peers, writes)))
    t.equal([int(line) for line in file.read_text().split()], [sum(writes)] * 2, "both numbers")


@case
def readers_and_writers_of_curator_and_holdfast(t):
    scene = Scene(t)
    file = scene.numbers(0, 0)
    peers = [scene.peer(kind, "rw", ROUNDS, file, 30) for kind in ("curator", "holdfast") * 3]
    readers_and_writers(t, scene, peers, file)


@case
def nodes_have_curators_names(t):
    scene = Scene(t)
    readers = [scene.holds("holdfast", "holdread") for _ in range(2)]
    writer = scene.joins("holdfast", "holdwrite")
    for number, (word, name) in enumerate(zip(("READ", "READ", "WRIT"), scene.nodes())):
        t.true(re.fullmatch(f"_c_{UUID}-__{word}__{number:010d}", name), name)
    for reader in readers:
        reader.release()
    writer.until_says("held")
    writer.release()


def exclusion(t, scene, one, other):
    """Which sides `other` can have while `one` has one."""
    holder = scene.holds(one, "holdread")
    t.true(scene.can(other, "tryread"), f"{other} cannot read with {one}: {scene.nodes()}")
    t.true(not scene.can(other, "trywrite"), f"{other} writes while {one} reads: {scene.nodes()}")
    holder.release()
    holder = scene.holds(one, "holdwrite")
    t.true(not scene.can(other, "tryread"), f"{other} reads while {one} writes: {scene.nodes()}")
    t.true(not scene.can(other, "trywrite"), f"{other} writes too: {scene.nodes()}")
    holder.release()


@case
def readers_share_and_writers_exclude(t):
    for one, other in (("curator", "holdfast"), ("holdfast", "curator")):
        exclusion(t, Scene(t), one, other)


@case
def readers_share_and_writers_exclude_with_kazoo(t):
    for one, other in (("kazoo", "holdfast"), ("holdfast", "kazoo")):
        exclusion(t, Scene(t, style="kazoo"), one, other)


@case
def first_come_first_served_among_readers_and_writers(t):
    scene = Scene(t)
    first = scene.holds("curator", "holdwrite")
    two = [scene.joins("holdfast", "holdread"), scene.joins("curator", "holdread")]
    third = scene.joins("holdfast", "holdwrite")
    late = [scene.joins("curator", "holdread"), scene.joins("holdfast", "holdread")]
    last = scene.joins("curator", "holdwrite")
    scene.nobody_else([*two, third, *late, last])
    first.release()
    for reader in two:
        reader.until_says("held")
    scene.nobody_else([third, *late, last])
    two[0].release()
    scene.nobody_else([third, *late, last])
    two[1].release()
    third.until_says("held")
    scene.nobody_else([*late, last])
    third.release()
    for reader in late:
        reader.until_says("held")
    scene.nobody_else([last])
    for reader in late:
        reader.release()
    last.until_says("held")
    last.release()


@case
def a_downgrade_lets_no_waiting_writer_in(t):
    for kind in ("curator", "holdfast"):
        scene = Scene(t)
        holder = scene.holds("holdfast", "downgrade")
        writer = scene.joins(kind, "holdwrite")
        reader = scene.joins("curator", "holdread")
        holder.tell()
        holder.until_says("downgraded")
        scene.nobody_else([writer, reader], 0.5)
        holder.release()
        writer.until_says("held")
        scene.nobody_else([reader])
        writer.release()
        reader.until_says("held")
        reader.release()


@case
def a_downgrade_lets_readers_in(t):
    scene = Scene(t)
    holder = scene.holds("holdfast", "downgrade")
    readers = [scene.joins(kind, "holdread") for kind in ("curator", "holdfast", "curator")]
    scene.nobody_else(readers)
    holder.tell()
    for reader in readers:
        reader.until_says("held")
    for kind in ("curator", "holdfast"):
        t.true(not scene.can(kind, "trywrite"), f"{kind} writes too: {scene.nodes()}")
    for peer in (holder, *readers):
        peer.release()


@case
def the_lock_of_a_dead_writer_passes_on_after_its_session(t):
    for dying, others in (("curator", "holdfast"), ("holdfast", "curator")):
        scene = Scene(t)
        holder = scene.holds(dying, "holdwrite", session=SHORT)
        place = scene.nodes()[0]
        readers = [scene.joins(others, "holdread") for _ in range(2)]
        holder.kill()
        scene.gone_before_held(place, readers)
        for reader in readers:
            reader.release()


@case
def writers_of_kazoo_with_readers_and_writers_of_holdfast(t):
    scene = Scene(t, style="kazoo")
    file = scene.numbers(0, 0)
    peers = [scene.peer("kazoo", "rw", ROUNDS // 2, file, 100) for _ in range(2)]
    peers += [scene.peer("holdfast", "rw", ROUNDS, file, 30) for _ in range(3)]
    readers_and_writers(t, scene, peers, file)


@case
def kazoo_waits_in_the_same_queue(t):
    scene = Scene(t, style="kazoo")
    holder = scene.holds("holdfast", "holdread")
    t.true(re.fullmatch("[0-9a-f]{32}__rlock__0000000000", scene.nodes()[0]), scene.nodes()[0])
    writer = scene.joins("kazoo", "holdwrite")
    reader = scene.joins("holdfast", "holdread")
    last = scene.joins("holdfast", "holdwrite")
    scene.nobody_else([writer, reader, last])
    for current, behind in ((holder, [writer, reader, last]), (writer, [reader, last]),
                            (reader, [last]), (last, [])):
        current.until_says("held")
        scene.nobody_else(behind)
        current.release()


play()
