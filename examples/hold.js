/* hold.js - three workers, one at a time, in Node: a lock through one child process.
 * `node hold.js` needs `holdfast` in PATH; docs/status-fd.md tells what is read here.  It prints
 *
 *     turn 1: 1 inside, the token has risen: true
 *     turn 2: 1 inside, the token has risen: true
 *     turn 3: 1 inside, the token has risen: true
 */
'use strict';
const { spawn } = require('child_process');
const readline = require('readline');
const sleep = require('timers/promises').setTimeout;

/* Calls work(token, signal) under the lock.  It must stop when the signal says "abort". */
async function locked(name, work) {
    const child = spawn('holdfast', ['hold', '-q', '--status-fd', '1', name],
                        { stdio: ['pipe', 'pipe', 'inherit'] });
    const exited = new Promise((done) => child.on('exit', done).on('error', done));
    const held = new AbortController();
    let timer, result;

    for await (const line of readline.createInterface({ input: child.stdout })) {
        const { event, token, left_ms, deadline } = JSON.parse(line);
        if (deadline) { /* null: as long as the child lives */
            clearTimeout(timer);
            timer = setTimeout(() => held.abort(), Math.min(left_ms, Date.parse(deadline) - Date.now()));
        }
        if (event === 'held') {
            result = work(BigInt(token), held.signal).finally(() => child.stdin.end()); /* releases it */
            result.catch(() => {}); /* is thrown below */
        } else if (event === 'lost') {
            held.abort();
        }
    }
    clearTimeout(timer);
    held.abort(); /* the child was killed, or the work is done */
    const code = await exited;
    if (code !== 0)
        throw new Error(`"${name}" was not held, or not to the end: ${code}`);
    return result;
}

let turn = 0, inside = 0, last = 0n;
for (let i = 0; i < 3; i++)
    locked('example-node', async (token, signal) => {
        console.log(`turn ${++turn}: ${++inside} inside, the token has risen: ${token > last}`);
        last = token;
        await sleep(20, null, { signal });
        inside--;
    });
