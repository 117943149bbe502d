// The runner of policy packs require()s its entry, with a compiler for TypeScript in the way; import() goes round both.
import("./pack.ts");
