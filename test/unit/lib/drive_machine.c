/* drive_machine.c - see drive_machine.h. */
#include "unit/lib/drive_machine.h"

#include <sys/eventfd.h>
#include <unistd.h>

static void collect(void *owner)
{
    struct machine *machine = owner;

    machine->at_work += machine->posted;
    machine->posted = 0;
}

static void turn(void *owner, hf_time now, bool readable)
{
    struct machine *machine = owner;
    uint64_t        value;

    (void)now;
    if (machine->stop) {
        sem_post(&machine->entered);
        while (sem_wait(&machine->leave) < 0)
            continue;
    }
    if (readable && read(machine->fd, &value, sizeof value) == sizeof value)
        machine->at_work += (int)value;
}

static hf_time publish(void *owner)
{
    struct machine *machine = owner;

    machine->turns++;
    machine->done += machine->at_work;
    machine->at_work = 0;
    if (machine->again > 0) {
        machine->again--;
        machine->posted++;
        hf_drive_post(&machine->drive);
    }
    hf_time wake = machine->wake;
    machine->wake = HF_NEVER;
    return wake;
}

static void deliver(void *owner)
{
    struct machine *machine = owner;
    int             cancel = hf_drive_begin(&machine->drive); /* the mutex is not held */

    machine->delivered++;
    hf_drive_end(&machine->drive, cancel);
}

static const struct hf_drive_ops ops = { collect, turn, publish, deliver };

void machine_init(struct machine *machine, bool keeper)
{
    *machine = (struct machine){ .wake = HF_NEVER };
    sem_init(&machine->entered, 0, 0);
    sem_init(&machine->leave, 0, 0);
    machine->fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    assert_true(machine->fd >= 0);
    assert_int_equal(hf_drive_init(&machine->drive, &ops, machine, machine->fd, keeper),
                     0);
}

void machine_finish(struct machine *machine)
{
    hf_drive_finish(&machine->drive);
    sem_destroy(&machine->entered);
    sem_destroy(&machine->leave);
    close(machine->fd);
}

void post(struct machine *machine, int count)
{
    machine->posted += count;
    hf_drive_post(&machine->drive);
}

static bool is_reached(void *arg)
{
    const struct goal *goal = arg;

    return goal->machine->done >= goal->done;
}

int wait_for(struct goal *goal)
{
    int cancel = hf_drive_begin(&goal->machine->drive);
    int r = hf_drive_wait(&goal->machine->drive, is_reached, goal, goal->deadline);

    hf_drive_end(&goal->machine->drive, cancel);
    return r;
}

void *wait_in_thread(void *data)
{
    struct goal *goal = data;

    goal->result = wait_for(goal);
    return NULL;
}

void await_machine(struct machine *machine, bool (*is_so)(const struct machine *machine))
{
    bool so = false;

    for (hf_time end = hf_now() + 60 * HF_SEC; !so && hf_now() < end; usleep(1000)) {
        int cancel = hf_drive_begin(&machine->drive);
        so = is_so(machine);
        hf_drive_end(&machine->drive, cancel);
    }
    assert_true(so);
}
