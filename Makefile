# Everything works from a fresh clone with Python 3.11+ and make. See README.md.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
GEN_VENV := .venv-gen
DOCS_VENV := .venv-docs
RELEASE_VENV := .venv-release
CRAWLERS_VENV := .venv-crawlers
PROTOS := $(wildcard proto/linkscore/v1/*.proto)
# Processes that tests are spread over, a file of tests to one; on two cores three are no faster.
CORES ?= 2
SPREAD = -n $(CORES) --dist loadfile --no-loadscope-reorder
SOURCES := clients/python scoring server frontier cli console lab research

.PHONY: demo bed native native-check console test-console test-clients gen-go gen-node run test test-long slow quality check gen docs bench wanted profile image lock release clean

run: announce $(STAMP)
	@$(BIN)/linkscore demo $(if $(BUDGET),--budget $(BUDGET)) $(if $(POLICY),--policy $(POLICY))

# Measured in November 2026 on two cores that others used too: 25 s a crawl; minutes where ten others did.
# tools/make_venv.py says what an environment takes.
.PHONY: announce
announce:
	@test -e $(STAMP) || echo "make run: the first time it installs linkscore into $(VENV): 170 MB to download, 640 MB on disk"
	@echo "make run: crawls a site twice with real Scrapy, about a minute on two idle cores; then see out/report.html"

# The same with a web page to look at meanwhile; it stays until you press Ctrl-C.
demo: $(STAMP)
	$(BIN)/linkscore demo --watch $(if $(BUDGET),--budget $(BUDGET)) $(if $(POLICY),--policy $(POLICY))

# The same in each run: nothing is drawn at random, nothing is held to a time.
test: $(STAMP)
	$(BIN)/python -m pytest -q -m "not slow and not long" $(SPREAD)

# What takes seconds each: servers that crash and start again, whole crawls, every policy with other parts.
test-long: $(STAMP)
	$(BIN)/python -m pytest -q -m "long and not slow" $(SPREAD)

# Clients of every language whose tools are there: their own tests, and the scenarios all of them pass.
test-clients: $(STAMP)
	$(BIN)/python tools/test_clients.py $(if $(WITHIN),--within $(WITHIN))

# A real crawler, plain beside linkscore, on the demonstration site: a table.
crawl-crawlee-python crawl-crawl4ai: $(CRAWLERS_VENV)/.installed
crawl-crawlee: clients/node/node_modules
crawl-heritrix crawl-stormcrawler: crawl-%: research/linkscore_research/crawlers/%/target/classpath
crawl-nutch: clients/java/target/.installed
crawl-colly crawl-crawlee crawl-crawlee-python crawl-crawl4ai crawl-nutch crawl-stormcrawler crawl-heritrix: $(STAMP)
	CRAWL4AI_NO_CLOUD_NOTICE=1 $(BIN)/python -m linkscore_research.crawlers.compare $(@:crawl-%=%) \
	    $(if $(BUDGET),--budget $(BUDGET))

# Without npm nothing is installed, and who needs it says so.
clients/node/node_modules: clients/node/package-lock.json
	@if command -v npm > /dev/null; then cd clients/node && npm ci --silent && touch node_modules; fi

# Nor is it without Maven: the client and the plugins, in the local repository, and programs that crawl with them.
JVM_SOURCES := $(shell find clients/java proto -name target -prune -o -name '*.java' -print -o -name pom.xml -print -o -name '*.proto' -print)
clients/java/target/.installed: $(JVM_SOURCES)
	@if command -v mvn > /dev/null; then \
	    cd clients/java && mvn --batch-mode --quiet install -DskipTests && mkdir -p target && touch target/.installed; fi

# StormCrawler's own jars are not in every repository: clients/java/stormcrawler/README.md.
STORMCRAWLER := $(HOME)/.m2/repository/org/apache/stormcrawler/stormcrawler-urlfrontier
research/linkscore_research/crawlers/%/target/classpath: clients/java/target/.installed
	@if command -v mvn > /dev/null && [ $* != stormcrawler -o -d $(STORMCRAWLER) ]; then \
	    cd research/linkscore_research/crawlers/$* && mvn --batch-mode --quiet process-classes && touch target/classpath; fi

gen-go: $(STAMP)
	cd clients/go && ../../$(BIN)/buf generate ../../proto --template buf.gen.yaml

# Java's are not kept: Maven makes them whenever the module is built.
.PHONY: gen-java
gen-java:
	cd clients/java && mvn --batch-mode --quiet --projects stubs generate-sources

# Besides the contract, google.rpc's error details: from the package that the Python client has them from.
RPC = $(shell $(BIN)/python -c 'import google.rpc.status_pb2 as s, pathlib; print(pathlib.Path(s.__file__).parents[2])')
gen-node: $(STAMP) clients/node/node_modules
	cd clients/node && ../../$(BIN)/buf generate ../../proto --template buf.gen.yaml
	cd clients/node && ../../$(BIN)/buf generate $(RPC) --path $(RPC)/google/rpc/status.proto \
	    --path $(RPC)/google/rpc/error_details.proto --template buf.gen.yaml

# The libraries of the console, bundled; what this writes is committed, so nothing else needs Node.
console:
	cd console/bundle && npm ci --silent && npm run --silent build

# Every view in a real browser, over a server that real Scrapy crawls stored sites with.
BROWSER ?= $(shell command -v chromium || command -v chromium-browser || command -v google-chrome)
test-console: $(STAMP)
	@if [ -z "$(BROWSER)" ] || ! command -v npm >/dev/null; then \
	    echo "console: skipped, it needs chromium and npm (Debian: apt-get install chromium npm)"; \
	else (cd console/bundle && npm ci --silent) && \
	    LINKSCORE_BROWSER=$(BROWSER) $(BIN)/python -m pytest -q -m slow tests/browser; fi

# The compiled reader of pages, into .venv; everything works without it, and it is never built on the way.
native: $(STAMP)
	@command -v cargo >/dev/null || { echo "make native: needs cargo (https://rustup.rs), which is missing"; exit 1; }
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --force-reinstall --no-deps ./native

native-check:
	@if command -v cargo >/dev/null; then \
	    cd native && cargo fmt --check && cargo clippy --quiet --release --locked -- -D warnings; \
	else echo "native: skipped, there is no cargo"; fi

# The chart, rendered in both modes and held against the schemas of Kubernetes; what has no tool here is skipped.
.PHONY: test-deploy
test-deploy: $(STAMP)
	$(BIN)/python -m pytest -q -rs tests/unit/test_deploy_files.py

slow: $(STAMP) test-groups image-test
	$(BIN)/python -m pytest -q -m slow
	$(BIN)/python -m pytest -q -m "hypothesis and not slow" --random

.PHONY: test-groups
# What the contract says holds for crawls of several groups and for a server of several processes too.
test-groups: $(STAMP)
	$(BIN)/python -m pytest -q tests/contract --groups 8
	$(BIN)/python -m pytest -q tests/contract --workers 2

.PHONY: fuzz fuzz-frontier kills faults
# Long runs that try to break a server; small ones are among the tests.
fuzz: $(STAMP)
	PYTHONPATH=tests $(BIN)/python -m campaigns.fuzz --seed $(or $(SEED),0) --calls $(or $(N),20000)

fuzz-frontier: $(STAMP)
	PYTHONPATH=tests $(BIN)/python -m campaigns.fuzz_frontier --seed $(or $(SEED),0) --calls $(or $(N),20000)

kills: $(STAMP)
	PYTHONPATH=tests $(BIN)/python -m campaigns.kills --kills $(or $(N),100) $(if $(SEED),--seed $(SEED))

faults: $(STAMP)
	PYTHONPATH=tests $(BIN)/python -m campaigns.faults --faults $(or $(N),50) $(if $(SEED),--seed $(SEED)) \
	    $(if $(ONLY),--only $(ONLY))

quality: $(STAMP)
	$(BIN)/python -m linkscore_research.quality $(foreach folder,$(CORPORA),--corpora $(folder))

# Policies on every labelled site of some folders from four starts, paired, with standard errors; pages are extracted once.
bed: $(STAMP)
	$(BIN)/python -m linkscore_research.bed $(foreach folder,$(CORPORA),--corpora $(folder)) \
	    $(foreach policy,$(POLICY),--policy $(policy)) $(if $(HALF),--half $(HALF)) $(if $(OUT),--out $(OUT)) $(if $(BEFORE),--before $(BEFORE))

check: $(STAMP) $(GEN_VENV)/.installed native-check
	$(BIN)/ruff check .
	$(BIN)/ruff format --check --diff .
	$(BIN)/mypy $(SOURCES)
	cd proto && ../$(BIN)/buf lint && ../$(BIN)/buf format -d --exit-code
	$(BIN)/python tools/generate_stubs.py --check $(GEN_VENV)/bin/python
	$(BIN)/python tools/openapi.py --check $(GEN_VENV)/bin/python
	$(BIN)/python tools/generate_client.py --check
	$(BIN)/python tools/docs_tables.py --check
	$(BIN)/python tools/size.py
	$(BIN)/python -m linkscore_research.papers page --check

gen: $(STAMP) $(GEN_VENV)/.installed
	$(BIN)/python tools/generate_stubs.py $(GEN_VENV)/bin/python
	$(BIN)/python tools/openapi.py $(GEN_VENV)/bin/python
	$(BIN)/python tools/generate_client.py
	$(BIN)/python tools/docs_tables.py
	$(BIN)/python -m linkscore_research.papers page
	@if command -v go > /dev/null; then $(MAKE) gen-go; else echo "make gen: no go, clients/go keeps its stubs"; fi
	@if command -v npm > /dev/null; then $(MAKE) gen-node; else echo "make gen: no npm, clients/node keeps its stubs"; fi

# The documentation site, in out/docs; a warning is an error.
docs: $(DOCS_VENV)/.installed
	NO_MKDOCS_2_WARNING=1 $(DOCS_VENV)/bin/mkdocs build --strict

bench: $(STAMP)
	$(BIN)/python -m benchmarks

# Crawls for what is wanted in words, on stored sites: `make wanted CORPORA="FOLDER ..." HALF=judged`.
wanted: $(STAMP)
	$(BIN)/python -m linkscore_research.wanted $(CORPORA) $(if $(HALF),--half $(HALF))

# Where the CPU of a page goes, as a flame graph.
profile: $(STAMP)
	@mkdir -p out
	$(BIN)/py-spy record --output out/profile.svg -- $(BIN)/python -m benchmarks.bench_budget --busy

# Known weaknesses of what is locked; needs pip-audit, cargo-audit and their databases, and is red without.
.PHONY: audit
audit: $(STAMP)
	@$(BIN)/python tools/audit.py

image:
	docker build -t linkscore .

# Both targets of the Dockerfile are built and run, without an engine: BASE and RUST name other images.
.PHONY: image-test
image-test: $(STAMP)
	$(BIN)/python tools/image_test.py $(if $(BASE),--base $(BASE)) $(if $(RUST),--rust $(RUST))

lock: $(STAMP)
	$(BIN)/python tools/lock.py $(if $(UPGRADE),--upgrade)

# Checks the notes, builds, tries what was built from an index on loopback, tags: `make release TAG=no` does not tag.
release: $(STAMP) $(RELEASE_VENV)/.installed
	$(RELEASE_VENV)/bin/python tools/release.py $(if $(filter no,$(TAG)),--no-tag)

clean:
	rm -rf $(VENV) $(GEN_VENV) $(DOCS_VENV) $(RELEASE_VENV) $(CRAWLERS_VENV) native/target dist out .pytest_cache .mypy_cache .ruff_cache .hypothesis

$(STAMP): requirements/dev.lock pyproject.toml research/pyproject.toml
	$(PYTHON) tools/make_venv.py $(VENV) requirements/dev.lock --editable
	@touch $@

$(GEN_VENV)/.installed: requirements/gen.lock
	$(PYTHON) tools/make_venv.py $(GEN_VENV) requirements/gen.lock
	@touch $@

$(DOCS_VENV)/.installed: requirements/docs.lock
	$(PYTHON) tools/make_venv.py $(DOCS_VENV) requirements/docs.lock
	@touch $@

# Crawlers in Python that adapters are tested with: far more than anything else here needs.
$(CRAWLERS_VENV)/.installed: requirements/crawlers.lock pyproject.toml research/pyproject.toml
	$(PYTHON) tools/make_venv.py $(CRAWLERS_VENV) requirements/crawlers.lock --editable
	@touch $@

$(RELEASE_VENV)/.installed: requirements/release.lock
	$(PYTHON) tools/make_venv.py $(RELEASE_VENV) requirements/release.lock
	@touch $@
