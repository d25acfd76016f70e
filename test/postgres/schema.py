#!/usr/bin/env -S python3 -B
"""schema - the SQL of the PostgreSQL store on a real server, beside a model of it.

    test/postgres/schema.py [FOLDER] [--steps N] [--seed N] [CASE ...]

FOLDER, where programs are built, does not matter here.  See lines.py and model.py.
"""
import random

from cases import *  # noqa: F403
from model import Model


@case
def random_steps_do_what_the_model_does():
    seed = options.seed if options.seed is not None else random.randrange(10**6)
    print(f"# --seed {seed} --steps {options.steps}")
    model = Model(server(), random.Random(seed))
    for i in range(options.steps):
        try:
            model.step()
        except BaseException:
            print(f"# at step {i}, {list(model.done)[-1]} was new last")
            raise
    model.finish()


def add_options(parser):
    parser.add_argument("--steps", type=int, default=1000)
    parser.add_argument("--seed", type=int)


main(add_options)
