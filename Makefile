# The targets and their arguments are a public interface; docs: README.md.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
STACK ?= dev
NAME ?= llm-lab

# Node 24 comes with the packages, so that an older node on the machine is enough to start.
export PATH := $(CURDIR)/node_modules/.bin:$(PATH)
packages := node_modules/.package-lock.json

.PHONY: help
help: ## what there is
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

$(packages): package.json package-lock.json
	@command -v npm > /dev/null || { echo "npm: not found; install Node.js 20 or later, which brings it" >&2; exit 1; }
	npm ci --no-progress --loglevel=error # its engine warnings are about the node that only starts npm
	@touch $@

.PHONY: up
up: $(packages) ## the lab, the dev stack on it, and what runs where
	node lab/up.ts

.PHONY: lab
lab: $(packages) ## a control plane with a simulated worker-1 (NAME=llm-lab)
	node lab/lab.ts start --name='$(NAME)'

.PHONY: lab-stop
lab-stop: $(packages) ## ends a lab and its stack state (NAME=llm-lab)
	node lab/lab.ts stop --name='$(NAME)'

.PHONY: preview
preview: $(packages) ## what an edit would do (STACK=dev)
	node lab/withEnvironment.ts '$(STACK)' pulumi preview --stack '$(STACK)'

.PHONY: review
review: STACK = prod
review: BASE ?= HEAD
review: $(packages) ## what an edit does, as a page for a reviewer in .review/ (STACK=prod BASE=HEAD)
	node lab/withEnvironment.ts '$(STACK)' node review/review.ts --stack='$(STACK)' --base='$(BASE)' || [ $$? -eq 2 ] # 2: it changes something

.PHONY: rehearse
rehearse: STACK = prod
rehearse: BASE ?= HEAD
rehearse: $(packages) ## an edit of the stack file on a lab first: outages, restarts, stuck pods (STACK=prod BASE=HEAD LIMIT=)
	node rehearse/rehearse.ts --stack='$(STACK)' --base='$(BASE)' --limit='$(LIMIT)'

.PHONY: drift
drift: STACK = prod
drift: $(packages) ## whether the cluster is what the program says, by reads alone (STACK=prod)
	node lab/withEnvironment.ts '$(STACK)' pulumi preview --stack '$(STACK)' --refresh --expect-no-changes --non-interactive

.PHONY: adopt-plan
adopt-plan: STACK = prod
adopt-plan: $(packages) ## what adopting a kubectl-applied namespace would change (STACK=prod)
	node adopt/plan.ts --stack='$(STACK)'

.PHONY: adopt
adopt: STACK = prod
adopt: $(packages) ## adopts it (STACK=prod)
	node adopt/adopt.ts --stack='$(STACK)'

.PHONY: image
image: STACK = prod
image: $(packages) ## clef-serve's image into the registry (STACK=prod ARCHIVE= BASE= CHUNKS=)
	node publish/publish.ts --stack='$(STACK)' $(if $(ARCHIVE),--archive '$(ARCHIVE)') $(if $(BASE),--base '$(BASE)') \
		$(if $(filter no,$(CHUNKS)),--no-chunks)

.PHONY: bench-registry
bench-registry: $(packages) ## a layer of 300 MiB through an nginx that lets 100 through (needs nginx)
	node bench/benchRegistry.ts

.PHONY: recover
recover: STACK = prod
recover: $(packages) ## clears what a killed run left behind, after asking (STACK=prod)
	node recover/recover.ts --stack='$(STACK)'

.PHONY: lint-ci
lint-ci: $(packages) ## the workflow files of CI
	node ci/lint.ts

.PHONY: comment
comment: STACK = prod
comment: $(packages) ## in CI: the reports of review and rehearse as one comment on the change (STACK=prod)
	node ci/comment.ts --stack='$(STACK)'

.PHONY: ci-kubeconfig
ci-kubeconfig: ## in CI: writes the secret REVIEWER_KUBECONFIG to the file that KUBECONFIG names
	@umask 077 && printf '%s\n' "$${REVIEWER_KUBECONFIG:?is not set: a secret of the repository, see docs/ci.md}" > "$${KUBECONFIG:?is not set}"

.PHONY: test
test: $(packages) ## unit, golden, policy and end-to-end tests, in under ten minutes
	mocha --parallel --jobs 2 'tests/{unit,golden,policy,e2e}/**/*.test.ts' # each file has labs of its own, and mostly waits

.PHONY: test-slow
test-slow: $(packages) ## the rest: whole jobs of a person, end to end (adoption, rollouts, review, runbooks, registry)
	mocha --parallel --jobs 2 'tests/slow/*.test.ts'

.PHONY: fuzz
fuzz: export COUNT ?= 10000
fuzz: export PLANS ?= 200
fuzz: $(packages) ## generated stacks and plans against oracles and the real scheduler (COUNT=10000 PLANS=200)
	node tests/fuzz/fuzz.ts

.PHONY: transitions
transitions: export COUNT ?= 300
transitions: $(packages) ## generated moves of cards through the real CLI, against their previews' forecasts (COUNT=300)
	node tests/transitions/run.ts

.PHONY: bench-moves
bench-moves: $(packages) ## what a one-card move costs beyond cold start and grace, and the ways to apply it compared
	node bench/moves.ts

.PHONY: attacks
attacks: export KILLS ?= 30
attacks: $(packages) ## every attack on coder-predictor, on a lab of its own (KILLS=30)
	node tests/attacks/run.ts

.PHONY: bench-coldstart
bench-coldstart: $(packages) ## clef-serve's start with pip at boot against a prepared folder (2.8 GB of wheels, once)
	node bench/coldStart.ts

.PHONY: golden
golden: $(packages) ## rewrites the committed resource graphs, reports and pictures
	UPDATE_GOLDEN=1 mocha 'tests/golden/*.test.ts'

.PHONY: record-previews
record-previews: $(packages) ## previews again what the golden reports are made of, on labs of their own
	node tests/golden/previews/record.ts

.PHONY: check
check: $(packages) ## format, lint, types, generated files
	prettier --check --log-level warn .
	eslint --max-warnings 0 .
	tsc --noEmit
	node schema/generate.ts --check
