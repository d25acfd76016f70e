/* hold.js - three workers, one at a time, in Node: a lock through one child process.
 *
 *     node hold.js
 *
 * needs `holdfast` in PATH, and no package.  docs/status-fd.md tells what it reads.  It prints
 *
 *     turn 1: alone, the token has risen
 *     turn 2: alone, the token has risen
 *     turn 3: alone, the token has risen
 */
'use strict';
const { spawn } = require('child_process');
const readline = require('readline');

/* Calls work(token) under the lock, and lost() if that is ours no longer: work must stop then. */
async function locked(name, work, lost) {
    const child = spawn('holdfast', ['hold', '-q', '--status-fd', '1', name],
                        { stdio: ['pipe', 'pipe', 'inherit'] });
    const exited = new Promise((done) => child.on('exit', done).on('error', done));
    let ours = false, timer, result;

    for await (const line of readline.createInterface({ input: child.stdout })) {
        const event = JSON.parse(line); /* what is not known is ignored */
        if ('deadline' in event)
            clearTimeout(timer);
        if (event.deadline) /* null: as long as the child lives */
            timer = setTimeout(lost, Math.min(event.left_ms, Date.parse(event.deadline) - Date.now()));
        if (event.event === 'held') {
            ours = true;
            result = work(BigInt(event.token)).finally(() => child.stdin.end()); /* releases it */
            result.catch(() => {}); /* is thrown below */
        } else if (event.event === 'lost') {
            ours = false;
            lost();
        } else if (event.event === 'released') {
            ours = false;
        }
    }
    clearTimeout(timer);
    if (ours)
        lost(); /* the child was killed */
    const code = await exited;
    if (code !== 0)
        throw new Error(`"${name}" was not held, or not to the end: ${code}`);
    return result;
}

let inside = 0, turn = 0, last = 0n;

async function work(token) {
    console.log(`turn ${++turn}: ${++inside === 1 ? 'alone' : 'TOGETHER'}, ` +
                `the token has ${token > last ? 'risen' : 'FALLEN'}`);
    last = token;
    await new Promise((done) => setTimeout(done, 20));
    inside--;
}

for (let i = 0; i < 3; i++)
    locked('example-node', work, () => process.exit(1));
