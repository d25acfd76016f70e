#!/usr/bin/env -S python3 -B
"""init.py - init, as far as it goes without a server; test/postgres/init.py has the rest."""
from hf import *

SCHEMA = pathlib.Path(__file__).resolve().parent.parent.parent / "src/store/postgres/schema.sql"


def built_in():
    return "postgres" in json.loads(subprocess.run(
        [HOLDFAST, "version", "--json"], stdout=subprocess.PIPE, check=True).stdout)["stores"]


@case
def the_file_store_gets_its_files(t):
    for env, file in (({}, t.path("locks.db")),
                      ({"HOLDFAST_URL": None, "XDG_STATE_HOME": str(t.path("state"))},
                       t.path("state/holdfast/locks.db"))):
        t.true(not file.exists(), "it is there already")
        for _ in range(2):
            done = t.run("init", env=env)
            t.equal((done.code, done.out, done.err),
                    (0, f"sqlite:{file} is ready for use\n", ""))
            t.true(file.exists(), "it was not made")
    done = t.run("init", "--url", "sqlite:/not/there/at-all.db")
    t.equal((done.code, done.out), (69, ""))
    t.one_line(done.err)


@case
def a_mistyped_path_or_home_grows_no_folders(t):
    top = f"/holdfast-typo-{os.getpid()}"
    done = t.run("init", "--url", f"sqlite:{top}/locks.db")
    t.equal((done.code, done.out), (69, ""))
    t.one_line(done.err)
    t.true(not os.path.exists(top), "it was made")
    done = t.run("init", env={"HOLDFAST_URL": None, "XDG_STATE_HOME": None, "HOME": str(t.path("typo/ana"))})
    t.equal((done.code, done.out), (69, ""))
    t.contains(done.err, "No such file or directory")
    t.true(not t.path("typo").exists(), "it was made")


@case
def a_file_that_is_not_there_yet_will_keep_history(t):
    done = t.run("history")
    t.equal((done.code, done.out, done.err), (0, "", ""))
    t.equal(t.run("run", "a", "--", "true").code, 0)
    t.contains(t.run("history").out, " granted ")


@case
def other_stores_need_nothing(t):
    done = t.run("init", "--url", "memory:x")
    t.equal((done.code, done.out, done.err), (0, "memory: needs no preparation\n", ""))
    t.equal(list(t.folder.iterdir()), [], "files")


@case
def print_writes_a_comment_where_no_sql_is_needed(t):
    done = t.run("init", "--print", "--grant", "ana")
    t.equal((done.code, done.out, done.err), (0, "-- sqlite: needs no preparation\n", ""))


@case
def sql_for_postgresql(t):
    without = {"HOLDFAST_URL": None}  # an administrator need not have one
    if not built_in():
        for done in (t.run("init", "--print", "--url", "postgres:"),
                     t.run("init", "--url", "postgres://127.0.0.1:1/a")):
            t.equal((done.code, done.out), (64, ""))
            t.one_line(done.err)
            t.contains(done.err, 'no store of kind "postgres:" is built in; there are: sqlite')
        return
    done = t.run("init", "--print", env=without)  # SQL has dialects
    t.equal((done.code, done.out), (64, ""))
    t.contains(done.err, "--url postgres: or --url mariadb:")
    schema = t.run("init", "--print", "--url", "postgres:").out
    t.true(schema.endswith(f"{SCHEMA.read_text()}END $holdfast$;\n"), "it is not the schema")
    for done in (t.run("init", "--print", "--url", "postgres://127.0.0.1:1/a"),
                 t.run("init", "--print", "--url", "postgresql://127.0.0.1:1/a")):
        t.equal((done.code, done.err), (0, ""))
        t.true(done.out == schema, "it is not the schema")
    done = t.run("init", "--print", "--grant", 'an"a', "--url", "postgres:")
    t.equal((done.code, done.err), (0, ""))
    t.true(done.out.startswith(schema), "it does not begin with the schema")
    grants = done.out.removeprefix(schema)
    t.contains(grants, 'GRANT USAGE ON SCHEMA holdfast TO "an""a";')
    t.contains(grants, '    TO "an""a";\n')
    t.lacks(grants, ":")


@case
def bad_usage(t):
    for args, says in ((["--grant", "ana"], "--print"), (["--print", "--grant", ""], "role"),
                       (["a"], "a"), (["--json"], "--json"), (["--url", "frob:x"], "frob"),
                       (["--print", "--url", "frob:x"], "frob"), (["--url", "frob"], "frob"),
                       (["--print", "--system"], "sudo holdfast init --system"),
                       (["--print", "--url", "system:"], "sudo holdfast init --system")):
        done = t.run("init", *args)
        t.equal((done.code, done.out), (64, ""), args)
        t.one_line(done.err)
        t.contains(done.err, says)


main()
