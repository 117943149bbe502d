import { expect } from "chai";
import { readFileSync } from "node:fs";
import { requirementProblems } from "../../gpu/requirements.ts";

const FILE = "images/clef-serve/requirements.txt";
const HASH = `--hash=sha256:${"0".repeat(64)}`;
const problems = (...lines: string[]) => requirementProblems(lines.join("\n"), FILE);

describe("locked requirements", () => {
  it("D05 of this repository have nothing wrong, and hold the torch that V100 needs with all it needs in turn", () => {
    const text = readFileSync(new URL(`../../${FILE}`, import.meta.url), "utf8");
    expect(requirementProblems(text, FILE)).to.deep.equal([]);
    expect(text).to.match(/^torch==2\.7\.1 \\$/m);
    // The CUDA that its wheel is built for: pip would refuse another runtime beside it.
    expect(text).to.match(/^nvidia-cuda-runtime-cu12==12\.6\.\d+ \\$/m);
    expect(text.match(/^[\w-]+==/gm)).to.have.length(25);
  });

  it("may spread over lines, have comments, extras, markers, and hashes of every strength", () => {
    expect(
      problems(
        "# a comment with torch>=2.11",
        "torch==2.7.1 \\",
        `    ${HASH} \\`,
        `    --hash=sha384:${"a".repeat(96)}`,
        "    # via somebody",
        "",
        `Jinja2[i18n,x]==3.1.6 ; python_version >= "3.9" ${HASH}  # why`,
        `setuptools===84.2.1 --hash=sha512:${"b".repeat(128)}`,
      ),
    ).to.deep.equal([]);
  });

  it("must be there and name a package, whichever: a lock without torch is the model's owner's choice", () => {
    const remedy =
      " (name==version with hashes, a line each); bring it back from version control, or lock requirements.in " +
      "beside it as docs/cold-start.md says under The lock";
    expect(requirementProblems(undefined, FILE)).to.deep.equal([
      `${FILE} = (missing): there is no such file${remedy}`,
    ]);
    for (const empty of ["", "\n  \n", "# torch==2.7.1\n"]) {
      expect(problems(empty)).to.deep.equal([`${FILE} = (empty): names no package${remedy}`]);
    }
    expect(problems(`numpy==2.3.0 ${HASH}`)).to.deep.equal([]);
  });

  for (const line of [
    "torch",
    "torch>=2.7",
    "torch==2.7.*",
    "torch~=2.7.1",
    "torch @ https://x/y",
  ]) {
    it(`D05 refuse ${line}, which is not pinned, with what it means for V100`, () => {
      expect(problems("", `${line} ${HASH}`)).to.deep.equal([
        `${FILE}:2 = ${line}: not pinned to one version, and the newest torch has no kernels for V100 (name==version); ` +
          "lock requirements.in again by the command at the top of this file",
      ]);
    });
  }

  const builds: readonly (readonly [version: string, wrong: string | undefined])[] = [
    ["2.6.0", undefined],
    ["2.7.1", undefined],
    ["2.7.1+cu118", undefined],
    ["2.11.0+cu126", undefined],
    ["2.8.0", "its ordinary wheel is built for a CUDA after 12.6"],
    ["2.11.0", "its ordinary wheel is built for a CUDA after 12.6"],
    ["3.0", "its ordinary wheel is built for a CUDA after 12.6"],
    ["2.7.1+cu128", "built for CUDA 12.8"],
    ["2.11.0+cu130", "built for CUDA 13.0"],
    ["2.7.1+cpu", "build cpu is not for CUDA"],
    ["2.7.1+rocm6.3", "build rocm6.3 is not for CUDA"],
  ];
  for (const [version, wrong] of builds) {
    it(`D05 ${wrong === undefined ? "take" : "refuse"} torch ${version} on V100`, () => {
      expect(problems(`torch==${version} ${HASH}`)).to.deep.equal(
        wrong === undefined
          ? []
          : [
              `${FILE}:1 = torch==${version}: ${wrong}, and such wheels have no kernels for V100 (sm_70) (torch up to 2.7 ` +
                "from the ordinary index, or torch==X+cu126); correct it and lock requirements.in again " +
                "by the command at the top of this file",
            ],
      );
    });
  }

  it("D05 tell a torch for a newer CUDA by the runtime that was locked with it", () => {
    const locked = (runtime: string) => problems(`torch==2.7.1 ${HASH}`, `${runtime} ${HASH}`);
    expect(locked("nvidia-cuda-runtime-cu12==12.6.77")).to.deep.equal([]);
    expect(locked("nvidia_cuda_runtime_cu12==12.8.90")[0]).to.match(
      /:2 = nvidia_cuda_runtime_cu12==12\.8\.90: the locked torch is built for CUDA 12\.8\.90, and such/,
    );
    expect(locked("nvidia-cuda-runtime==13.0.48")).to.have.length(1);
  });

  it("refuse what has no hash, or half of one", () => {
    for (const line of [
      "numpy==2.3.1",
      "numpy==2.3.1 --hash=sha256:00",
      "numpy==2.3.1 --hash=md5:00",
    ]) {
      expect(problems(line), line).to.deep.equal([
        `${FILE}:1 = numpy==2.3.1: has no hash, so that pip would take any file of that name (--hash=sha256:<64 hex>); ` +
          "lock requirements.in again by the command at the top of this file",
      ]);
    }
  });

  it("are named by the line that a package begins on, whatever it spreads over", () => {
    expect(problems("# comment", "torch==2.11.0 \\", `    ${HASH} \\`, `    ${HASH}`)[0]).to.match(
      /^images\/clef-serve\/requirements\.txt:2 = torch==2\.11\.0: its ordinary wheel/,
    );
  });

  it("refuse options of pip, which belong to the stack, and name every bad line at once", () => {
    const found = problems(
      "--extra-index-url https://x/",
      "-r other.txt",
      `numpy>1 ${HASH}`,
      "a==1 \\",
    );
    expect(found.map((line) => line.split(":", 2)[1]?.split(" ")[0])).to.deep.equal([
      "1",
      "2",
      "3",
      "4",
    ]);
    expect(found[0]).to.include("PIP_EXTRA_INDEX_URL");
  });
});
