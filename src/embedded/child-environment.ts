/** Keeps passwords and PG* variables of the caller away from processes that outlive it or run as another account. */

/** The whole environment of every process started here. */
export const childEnvironment: Readonly<Record<string, string>> = {
  PATH: "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin",
  LC_ALL: "C",
};
