/** Request ids as they are loaded: any program may have written them, however long. */

const LONGEST_BYTES = 600;

/** SQL of a request id: a long one is cut, and its digest tells it from others. @param column "e.request_id" */
export function requestIdSql(column: string): string {
  return `case when octet_length(${column}) <= ${LONGEST_BYTES} then ${column}
    else left(${column}, 100) || '... md5 ' || md5(${column}) end`;
}
