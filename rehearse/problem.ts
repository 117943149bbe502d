/** Why a rehearsal does not begin or does not end, for a person: what is wrong and what to do. */
export class RehearsalError extends Error {}
