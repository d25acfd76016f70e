#!/usr/bin/env -S python3 -B
"""rwlock.py - one read/write lock, and processes that use it by Curator or kazoo and
Holdfast.

kazoo's readers take no part where somebody may come at the same moment: a reader of
kazoo 2.8 waits for writers behind it too, which wait for it.  Nor is a downgrade of
Curator's tried: before 5.5 a waiting writer gets in between.

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
def names_are_curators(t):
    scene = Scene(t)
    readers = [scene.holds("holdfast", "holdread") for _ in range(2)]
    writer = scene.joins("holdfast", "holdwrite")
    for number, (word, name) in enumerate(zip(("READ", "READ", "WRIT"), scene.nodes())):
        t.true(re.fullmatch(f"_c_{UUID}-__{word}__{number:010d}", name), name)
    for reader in readers:
        reader.let_go()
    writer.hears("held")
    writer.let_go()


def exclusion(t, scene, one, other):
    """What `other` can have while `one` has it."""
    holder = scene.holds(one, "holdread")
    t.true(scene.can(other, "tryread"), f"{other} cannot read with {one}: {scene.nodes()}")
    t.true(not scene.can(other, "trywrite"), f"{other} writes while {one} reads: {scene.nodes()}")
    holder.let_go()
    holder = scene.holds(one, "holdwrite")
    t.true(not scene.can(other, "tryread"), f"{other} reads while {one} writes: {scene.nodes()}")
    t.true(not scene.can(other, "trywrite"), f"{other} writes too: {scene.nodes()}")
    holder.let_go()


@case
def readers_share_and_a_writer_is_alone(t):
    for one, other in (("curator", "holdfast"), ("holdfast", "curator")):
        exclusion(t, Scene(t), one, other)


@case
def readers_share_and_a_writer_is_alone_with_kazoo(t):
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
    first.let_go()
    for reader in two:
        reader.hears("held")
    scene.nobody_else([third, *late, last])
    two[0].let_go()
    scene.nobody_else([third, *late, last])
    two[1].let_go()
    third.hears("held")
    scene.nobody_else([*late, last])
    third.let_go()
    for reader in late:
        reader.hears("held")
    scene.nobody_else([last])
    for reader in late:
        reader.let_go()
    last.hears("held")
    last.let_go()


@case
def a_downgrade_lets_no_waiting_writer_in(t):
    for kind in ("curator", "holdfast"):
        scene = Scene(t)
        holder = scene.holds("holdfast", "downgrade")
        writer = scene.joins(kind, "holdwrite")
        reader = scene.joins("curator", "holdread")
        holder.tell()
        holder.hears("downgraded")
        scene.nobody_else([writer, reader], 0.5)
        holder.let_go()
        writer.hears("held")
        scene.nobody_else([reader])
        writer.let_go()
        reader.hears("held")
        reader.let_go()


@case
def a_downgrade_lets_readers_in(t):
    scene = Scene(t)
    holder = scene.holds("holdfast", "downgrade")
    readers = [scene.joins(kind, "holdread") for kind in ("curator", "holdfast", "curator")]
    scene.nobody_else(readers)
    holder.tell()
    for reader in readers:
        reader.hears("held")
    for kind in ("curator", "holdfast"):
        t.true(not scene.can(kind, "trywrite"), f"{kind} writes too: {scene.nodes()}")
    for peer in (holder, *readers):
        peer.let_go()


@case
def a_dead_writer_lets_the_others_in_after_its_session(t):
    for dying, others in (("curator", "holdfast"), ("holdfast", "curator")):
        scene = Scene(t)
        holder = scene.holds(dying, "holdwrite", session=SHORT)
        place = scene.nodes()[0]
        readers = [scene.joins(others, "holdread") for _ in range(2)]
        holder.kill()
        scene.gone_before_held(place, readers)
        for reader in readers:
            reader.let_go()


@case
def writers_of_kazoo_with_readers_and_writers_of_holdfast(t):
    scene = Scene(t, style="kazoo")
    file = scene.numbers(0, 0)
    peers = [scene.peer("kazoo", "rw", ROUNDS // 2, file, 100) for _ in range(2)]
    peers += [scene.peer("holdfast", "rw", ROUNDS, file, 30) for _ in range(3)]
    readers_and_writers(t, scene, peers, file)


@case
def kazoo_waits_in_the_same_line(t):
    scene = Scene(t, style="kazoo")
    holder = scene.holds("holdfast", "holdread")
    t.true(re.fullmatch("[0-9a-f]{32}__rlock__0000000000", scene.nodes()[0]), scene.nodes()[0])
    writer = scene.joins("kazoo", "holdwrite")
    reader = scene.joins("holdfast", "holdread")
    last = scene.joins("holdfast", "holdwrite")
    scene.nobody_else([writer, reader, last])
    for current, behind in ((holder, [writer, reader, last]), (writer, [reader, last]),
                            (reader, [last]), (last, [])):
        current.hears("held")
        scene.nobody_else(behind)
        current.let_go()


play()
