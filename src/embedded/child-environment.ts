/** Hides the caller's passwords and PG* variables from processes that live longer or run as another account. */

/** The whole environment of every child process. */
export const childEnvironment: Readonly<Record<string, string>> = {
  PATH: "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin",
  LC_ALL: "C",
};
