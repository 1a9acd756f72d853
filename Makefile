# Everything works from a fresh clone with Python 3.11+ and make. See README.md.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
GEN_VENV := .venv-gen
PROTOS := $(wildcard proto/linkscore/v1/*.proto)
SOURCES := clients/python scoring server cli lab

.PHONY: run test slow quality check gen bench image lock baseline clean

run: $(STAMP)
	$(BIN)/linkscore demo $(if $(WARC),--warc $(WARC)) $(if $(LABELS),--labels $(LABELS)) \
	    $(if $(RELEVANT),--relevant $(RELEVANT)) $(if $(BUDGET),--budget $(BUDGET)) $(if $(POLICY),--policy $(POLICY))

test: $(STAMP)
	$(BIN)/python -m pytest -q -m "not slow"

slow: $(STAMP)
	$(BIN)/python -m pytest -q -m slow

quality: $(STAMP)
	$(BIN)/python -m linkscore_lab.quality $(if $(CORPORA),--corpora $(CORPORA))

check: $(STAMP) $(GEN_VENV)/.installed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check --diff .
	$(BIN)/mypy $(SOURCES)
	cd proto && ../$(BIN)/buf lint && ../$(BIN)/buf format -d --exit-code
	$(BIN)/python tools/breaking.py $(BIN)/buf
	$(BIN)/python tools/generate_stubs.py --check $(GEN_VENV)/bin/python
	$(BIN)/python tools/docs_tables.py --check

gen: $(STAMP) $(GEN_VENV)/.installed
	$(BIN)/python tools/generate_stubs.py $(GEN_VENV)/bin/python
	$(BIN)/python tools/docs_tables.py

bench: $(STAMP)
	$(BIN)/python -m benchmarks

image:
	docker build -t linkscore .

lock: $(STAMP)
	$(BIN)/python tools/lock.py $(if $(UPGRADE),--upgrade)

# The wire contract that later changes must not break: run it when a version is released.
baseline: $(STAMP)
	$(BIN)/python tools/breaking.py --release $(BIN)/buf

clean:
	rm -rf $(VENV) $(GEN_VENV) out .pytest_cache .mypy_cache .ruff_cache .hypothesis

$(STAMP): requirements/dev.lock pyproject.toml
	$(PYTHON) tools/make_venv.py $(VENV) requirements/dev.lock --editable
	@touch $@

$(GEN_VENV)/.installed: requirements/gen.lock
	$(PYTHON) tools/make_venv.py $(GEN_VENV) requirements/gen.lock
	@touch $@
