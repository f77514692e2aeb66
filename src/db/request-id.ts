/** Limits the length of request ids when they are read, because any program may have written them (decision 141). */

const LONGEST_BYTES = 600;

/** SQL of a request id. A long id is cut, and its digest keeps it distinct. @param column "e.request_id" */
export function requestIdSql(column: string): string {
  return `case when octet_length(${column}) <= ${LONGEST_BYTES} then ${column}
    else left(${column}, 100) || '... md5 ' || md5(${column}) end`;
}
