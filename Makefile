# Two commands are enough: `make up` shows the product, `make test` tests it.
# Every target sets up what it needs in .venv; nothing else on the machine is touched.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
CONFORMANCE ?= ../shared/conformance
# Many tests wait for processes, so one more worker than two cores.
WORKERS ?= 3
export PYTHONPATH :=
# Many tests start processes, so keep compiled bytecode.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: setup up cluster picture deploy test tests test-host test-cluster test-peers soak soak-cluster lint audit lock image test-minimums bench bench-host bench-peers bench-sync bench-ungating conformance conformance-if-any dist clean

setup: $(STAMP)

$(STAMP): pyproject.toml
	@echo "== setting up $(VENV) (a minute on a fresh machine) =="
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --upgrade pip
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	@touch $@

up: setup
	@$(BIN)/closeknit up --demo node-failure --data $(VENV)/up

# A real control plane with simulated machines, until Ctrl-C. OPTIONS='--with jobset lws --define kueue' adds to it.
cluster: setup
	@PYTHONPATH=tests exec $(BIN)/python -m servers $(OPTIONS)

picture: setup
	@$(BIN)/python docs/images/make.py

# Generate the chart, the kustomize base and the table of permissions from the code that `closeknit install` uses.
deploy: setup
	@$(BIN)/python deploy/make.py

lint: setup
	@echo "== lint =="
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@echo "== types =="
	@$(BIN)/mypy
	@echo "== import contract =="
	@$(BIN)/lint-imports --no-cache

conformance: setup
	@echo "== conformance: $(CONFORMANCE) =="
	@test -e "$(CONFORMANCE)" || { echo "no conformance data at $(CONFORMANCE): give its folder, CONFORMANCE=PATH"; exit 2; }
	@$(BIN)/python tests/conformance/run.py $(CONFORMANCE)

# Run lint, tests and conformance concurrently, each to its end, so that two cores stay busy. Where make supports it, the
# output of lint and conformance is shown as a whole when they are done.
SIDE_BY_SIDE := $(MAKE) --no-print-directory --keep-going --jobs 3 $(if $(filter output-sync,$(.FEATURES)),--output-sync=target)
test: setup
	@$(SIDE_BY_SIDE) lint tests conformance-if-any

# Tests of make test-host alone: they start whole hosts.
SLOW := $(addprefix tests/, host/test_tour.py host/test_extender_process.py cluster/embedded/rest/test_kubectl.py)
tests: setup
	@echo "== tests =="
	+@$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal $(addprefix --ignore ,$(SLOW))

conformance-if-any: setup
	@if [ -d "$(CONFORMANCE)" ]; then $(MAKE) --no-print-directory conformance; \
	else echo "SKIPPED, LOUDLY: no conformance data at $(CONFORMANCE); set CONFORMANCE=PATH to check against it"; fi

# Build the wheel and the sdist in dist/, and try the wheel in a clean environment.
dist: setup
	@echo "== distribution =="
	@$(BIN)/python tests/dist.py

# Renew the lock files of the image from an index of packages. The base image is in deploy/base-image.
lock: setup
	@$(BIN)/python deploy/lock.py

# Check what the image installs for known vulnerabilities, where an index of packages and PyPI's database are reachable.
audit: setup
	@echo "== known vulnerabilities of what the image installs =="
	@$(BIN)/python deploy/audit.py

# The controller's image, from the base image in deploy/base-image.
image:
	docker build -f deploy/Dockerfile --build-arg BASE="$$(grep -v '^#' deploy/base-image)" -t closeknit:latest .

# Part of the tests with the lowest versions of the dependencies that pyproject.toml allows.
test-minimums: setup
	@echo "== lowest versions of the dependencies =="
	@$(BIN)/python tests/minimums.py

# Slow tests, and those that need servers built with Go. The servers are built once and kept outside of the work tree.
test-host: setup
	@echo "== servers (minutes the first time) =="
	@PYTHONPATH=tests $(BIN)/python -m servers.build etcd kube-apiserver kube-controller-manager kubectl kubelet-admission
	@echo "== admission of pods compared with the kubelet's own code =="
	@PYTHONPATH=tests $(BIN)/python -m numa.against_kubelet --sequences 5000
	@echo "== contract on both servers =="
	@PYTHONPATH=tests $(BIN)/python -m contract.run real embedded
	@echo "== stories, kills, kubectl, fuzz, one truth =="
	@CLOSEKNIT_STEPS=80000 CLOSEKNIT_ZONED_STEPS=4000 CLOSEKNIT_KILLS=50 CLOSEKNIT_FUZZ=10000 CLOSEKNIT_TRUTHS=2000 \
		$(BIN)/python -m pytest -n auto --dist worksteal tests/cli/test_one_truth_props.py \
		tests/stories tests/host/test_kill.py $(SLOW) \
		tests/cluster/embedded/rest/test_server_fuzz.py tests/host/test_object_fuzz.py
	@echo "== attacks, with their full volumes =="
	@CLOSEKNIT_ATTACKS=1 $(BIN)/python -m pytest -n 0 tests/attacks

# Compare with the real Kueue and the real NodeResourceTopologyMatch, which take minutes to build. OPTIONS='--worlds 2
# --seed 7' plays other scripts.
test-peers: setup
	@echo "== servers (minutes the first time) =="
	@PYTHONPATH=tests $(BIN)/python -m servers.build etcd kube-apiserver kube-controller-manager kube-scheduler kubectl kwok jobset kueue \
		topology-match
	@echo "== filter and score by zones compared with NodeResourceTopologyMatch =="
	@PYTHONPATH=tests $(BIN)/python -m numa.against_plugin --cases 20000
	@echo "== our CRDs compared with Kueue's =="
	@PYTHONPATH=tests $(BIN)/python -m peers.crds
	@echo "== from Kueue to Closeknit and back =="
	@CLOSEKNIT_REAL=1 $(BIN)/python -m pytest -n 0 tests/peers/real
	@echo "== the same jobs on Kueue and Closeknit =="
	@PYTHONPATH=tests $(BIN)/python -m peers.run $(OPTIONS)

# Real Kubernetes with simulated machines, and our controller under its own account. The servers are built once.
CLUSTER := $(VENV)/test-cluster
REAL := CLOSEKNIT_REAL=1 $(BIN)/python -m pytest
TAKEOVER := tests/faults/real/test_takeover.py
# The files with the longest tests start first, so that the run does not end with them.
LONGEST := $(addprefix tests/real/test_, nodes.py install.py gate_matrix.py kinds.py trial.py)
test-cluster: setup
	@echo "== servers (a while the first time) =="
	@PYTHONPATH=tests $(BIN)/python -m servers.build etcd kube-apiserver kube-controller-manager kube-scheduler kubectl \
		kwok jobset lws helm
	@rm -rf $(CLUSTER)
	@echo "== corpus of manifests on both servers =="
	@PYTHONPATH=tests $(BIN)/python -m corpus.run real policies embedded
	@echo "== scenarios =="
	@CLOSEKNIT_FOLDER=$(CLUSTER) $(REAL) -n 5 --dist loadfile --no-loadscope-reorder $(LONGEST) tests/cli/real tests/real
	@echo "== requests of the controller against its permissions =="
	@CLOSEKNIT_AUDIT=$(CLUSTER)/logs/audit.jsonl $(REAL) -n 0 tests/real/test_permissions.py
	@echo "== faults: kills, restarts, lost history, conflicts, 429s, a bad network; and the test servers =="
	@CLOSEKNIT_FOLDER=$(CLUSTER)/faults $(REAL) -n 3 --dist worksteal tests/faults/real tests/servers/real \
		--ignore tests/servers/real/test_kueue.py --ignore $(TAKEOVER)
	@echo "== a leader dies, with the default lease; run alone because it is timed =="
	@CLOSEKNIT_FOLDER=$(CLUSTER)/takeover $(REAL) -n 0 -s $(TAKEOVER)

# Kill the controller 200 times under load, on a real control plane.
soak-cluster: setup
	@PYTHONPATH=tests $(BIN)/python -m servers.build etcd kube-apiserver kube-controller-manager kube-scheduler kubectl kwok
	@CLOSEKNIT_KILLS=$${CLOSEKNIT_KILLS:-200} $(REAL) -n 0 -s tests/faults/real/test_kills.py

soak: setup
	@PYTHONPATH=tests $(BIN)/python -m stories --steps 1000000 --seed 1000000
	@PYTHONPATH=tests $(BIN)/python -m stories --zones --steps 100000 --seed 1000000
	@PYTHONPATH=tests $(BIN)/python -m numa.against_kubelet --sequences 50000 --seed 1000000

bench: setup
	@$(BIN)/python -m bench.placement
	@$(BIN)/python -m bench.scheduling
	@$(BIN)/python -m bench.groups
	@$(BIN)/python -m bench.numa
	@$(BIN)/python -m bench.extender

bench-host: setup
	@$(BIN)/python -m bench.host

# Compared with Kueue, Volcano and NodeResourceTopologyMatch: single decisions. Then a fifth of Kueue's scale test through
# a real API server; FULL=1 runs all of it.
bench-peers: setup
	@$(BIN)/python -m bench.peers
	@$(BIN)/python -m bench.volcano
	@$(BIN)/python -m bench.numa_peer
	@$(BIN)/python -m bench.runner $(if $(FULL),--full)

# The start of a controller on a real API server with 5,000 nodes and 50,000 pods. OPTIONS='--nodes 1000 --pods 10000'
bench-sync: setup
	@$(BIN)/python -m bench.sync $(OPTIONS)

# How long 1,000 pods of one Job stay gated, on real Kubernetes with simulated machines.
bench-ungating: setup
	@$(BIN)/python -m bench.ungating $(OPTIONS)

clean:
	rm -rf $(VENV)
