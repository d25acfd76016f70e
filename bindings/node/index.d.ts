/// <reference lib="esnext.disposable" />
/** Locks shared by many processes, on one machine or many. */

/** How to acquire a lock. Times are in milliseconds. */
export interface LockOptions {
  /** Wait so long at most; 0 tries once. Without it the wait is unlimited. */
  timeout?: number;
  /** Try once, and do not queue: as `timeout: 0`. With `request()`, `fn(null)` is called if it is not free. */
  ifAvailable?: boolean;
  /** Ends the wait, which rejects with its reason. It has no effect on a lock that is held. */
  signal?: AbortSignal;
  /** true: share the lock with other readers; false: exclude readers and writers. */
  shared?: boolean;
  /** The same in the words of Web Locks. */
  mode?: "shared" | "exclusive";
  /** Allow so many holders at a time. */
  slots?: number;
  /** Take so many of the slots; 1 if missing. */
  weight?: number;
  /** No queue: when the lock is free, any of those that want it gets it. */
  claim?: boolean;
  /** Reject with the code HF_EFULL if so many wait already; 0: no limit. */
  maxWaiters?: number;
  /** Text that others see in a list. */
  note?: string;
  /** Called with the number of places ahead of ours, and at each change. Costs a request to the store each time. */
  onPlace?: (ahead: number) => void;
  /** Called when somebody asks for the lock while it is held. You need not do anything. */
  onAsked?: (reason: string, lock: Lock) => void;
}

/** A lock that is held. */
export class Lock implements AsyncDisposable {
  private constructor();
  readonly name: string;
  /** The fencing token: higher than that of every earlier holder of this name. */
  readonly token: bigint;
  /** With `slots`: a number that no other holder has at that time; else null. */
  readonly slot: number | null;
  /** Aborts when the lock is lost, with a LockLostError as its reason. */
  readonly signal: AbortSignal;
  /** For how many milliseconds the lock is certainly held, by this process's own clocks; 0: stop now. */
  readonly left: number;
  /** Is it held, as far as is known here? Does not ask the store. */
  readonly held: boolean;
  onAsked?: (reason: string, lock: Lock) => void;
  /** Asks the store. Rejects with LockLostError if the lock is not held any more. */
  ensureHeld(): Promise<void>;
  /** With `shared: false`: a writer becomes a reader, and no other writer gets in between. */
  downgrade(): Promise<void>;
  /** Rejects with LockLostError if the lock was not yours to the end. May be called twice. */
  release(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

/** One place in the queue of a lock. */
export interface Place {
  name: string;
  held: boolean;
  token: bigint;
  kind: "mutex" | "reader" | "writer" | "semaphore" | "claim" | "unknown";
  since: Date;
  age_ms: number;
  weight: number;
  capacity: number | null;
  slot: number | null;
  host: string;
  user: string;
  pid: number;
  command: string;
  note: string;
  version: string;
  stopped: boolean;
  lease_left_ms: number | null;
}

/** How long something took. `buckets[i]` counts what took less than 2^i microseconds and not less than half of that. */
export interface Histogram {
  count: number;
  total_us: number;
  max_us: number;
  buckets: number[];
}

/** The counts of all locks since the helper started; docs/metrics.md of Holdfast explains them. */
export interface Stats {
  acquired: number;
  busy: number;
  timeouts: number;
  canceled: number;
  failed: number;
  released: number;
  lost: number;
  /** Of `lost`: somebody took it away. */
  broken: number;
  connected: number;
  sessions_lost: number;
  renewals: number;
  renewals_late: number;
  /** The least that was ever left of the lease while a lock was held; null where there is no lease. */
  least_left_ms: number | null;
  wait: Histogram;
  hold: Histogram;
  round_trip: Histogram;
}

export interface ClientOptions {
  /** The store; without it $HOLDFAST_URL, or a file of this user. */
  url?: string;
  /** Text that others see, for locks without a note of their own. */
  note?: string;
  /** The holdfast command; without it $HOLDFAST_COMMAND, the package for this platform, or PATH. */
  command?: string;
}

/** One session in one store. It starts its helper process with the first call. */
export class Client implements AsyncDisposable {
  constructor(options?: ClientOptions);
  lock(name: string, options?: LockOptions): Promise<Lock>;
  /** Calls `fn` while the lock is held, and resolves with its result. */
  request<T>(name: string, fn: (lock: Lock) => T): Promise<Awaited<T>>;
  request<T>(name: string, options: LockOptions & { ifAvailable: true }, fn: (lock: Lock | null) => T): Promise<Awaited<T>>;
  request<T>(name: string, options: LockOptions & { ifAvailable?: false }, fn: (lock: Lock) => T): Promise<Awaited<T>>;
  request<T>(name: string, options: LockOptions, fn: (lock: Lock | null) => T): Promise<Awaited<T>>;
  /** Holders and waiters of one lock, or of all. */
  list(name?: string): Promise<Place[]>;
  /** Asks the holders to give the lock up; resolves with their number, or rejects with HF_ENOTFOUND if there are none. */
  ask(name: string, reason?: string): Promise<number>;
  /** Takes the place with this token away from its owner. */
  breakLock(name: string, token: bigint | string): Promise<void>;
  /** Does this token hold the lock now? For the resource that the lock protects. */
  isHeld(name: string, token: bigint | string): Promise<boolean>;
  /** What the helper has counted since it started, for metrics. */
  stats(): Promise<Stats>;
  /** The URL of the store, without passwords. */
  where(): Promise<string>;
  /** Releases everything and ends the helper. */
  close(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

/** `code` is a name of `enum hf_error` in holdfast.h: HF_EDOWN, HF_EDENIED, HF_EINVAL... */
export class HoldfastError extends Error {
  readonly code: string;
}
/** The lock was yours, but not to the end: HF_ELOST. */
export class LockLostError extends HoldfastError {}
/** Somebody else has it, and the time limit is over: HF_ETIMEOUT, HF_EBUSY. */
export class LockTimeoutError extends HoldfastError {}

export const lock: Client["lock"];
export const request: Client["request"];
export const list: Client["list"];
export const ask: Client["ask"];
export const breakLock: Client["breakLock"];
export const isHeld: Client["isHeld"];
export const stats: Client["stats"];
export const where: Client["where"];
