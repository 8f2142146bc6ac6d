/** What a check found out about one part. */
export interface Finding {
  part: string;
  ok: boolean;
  /** All works, and something should be otherwise. */
  isAdvice?: true;
  /** Text for the operator; never a secret. */
  detail: string;
}
