/** The API's schema of a comment. */

import type { Comment } from "../../mismatches/comment-store.ts";
import { documentOf, INSTANT, TEXT } from "./schema.ts";

export const COMMENT = documentOf<Comment>({ id: TEXT, at: INSTANT, by: TEXT, note: TEXT });

/** The answer to a new comment. */
export const ONE_COMMENT = documentOf<{ comment: Comment }>({ comment: COMMENT });
