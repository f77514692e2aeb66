/** Reads the machine's processes: only they show that nothing is left behind. */
import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";

export interface ProcessInfo {
  readonly pid: number;
  readonly parent: number;
  readonly uid: number;
  readonly command: string;
}

/** All living processes, without zombies. */
export function listProcesses(): ProcessInfo[] {
  if (process.platform === "linux") return readdirSync("/proc").flatMap(readLinuxProcess);
  const lines = execFileSync("ps", ["-Aww", "-o", "pid=,ppid=,uid=,stat=,command="], { encoding: "utf8" });
  return lines.split("\n").flatMap((line) => {
    const [, pid, parent, uid, state, command] = /^\s*(\d+)\s+(\d+)\s+(\d+)\s+(\S+)\s+(.*)$/.exec(line) ?? [];
    if (state === undefined || state.startsWith("Z")) return [];
    return [{ pid: Number(pid), parent: Number(parent), uid: Number(uid), command: command ?? "" }];
  });
}

function readLinuxProcess(name: string): ProcessInfo[] {
  if (!/^\d+$/.test(name)) return [];
  try {
    const status = readFileSync(`/proc/${name}/status`, "utf8");
    const field = (key: string) => new RegExp(`^${key}:\\s+(\\S+)`, "m").exec(status)?.[1];
    if (field("State") === "Z") return [];
    const command = readFileSync(`/proc/${name}/cmdline`, "utf8").replaceAll("\0", " ");
    return [{ pid: Number(name), parent: Number(field("PPid")), uid: Number(field("Uid")), command }];
  } catch {
    return [];
  }
}

/** The supervisor of a home folder and all its descendants: the server, its workers, their guard. */
export function serverProcesses(home: string): {
  all: ProcessInfo[];
  supervisor: ProcessInfo | undefined;
  postmaster: ProcessInfo | undefined;
  guards: ProcessInfo[];
} {
  const everything = listProcesses();
  const all = everything.filter(
    (one) => one.command.includes(home) && one.command.includes("postgres-supervisor"),
  );
  const supervisor = all[0];
  for (const found of all) all.push(...everything.filter((one) => one.parent === found.pid));
  const below = all.filter((one) => one.parent === supervisor?.pid);
  const postmaster = below.find((one) => /\/postgres -D/.test(one.command));
  return { all, supervisor, postmaster, guards: below.filter((one) => one.command.startsWith("/bin/sh")) };
}

/** Those of the given processes that still live. */
export function survivors(processes: readonly ProcessInfo[]): ProcessInfo[] {
  return listProcesses().filter((one) => processes.some((old) => old.pid === one.pid && old.uid === one.uid));
}
