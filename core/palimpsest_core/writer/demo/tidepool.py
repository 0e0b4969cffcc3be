"""Demo project: a time-series store in Rust. A big refactoring, a crash, an aborted turn, an image of a flame graph."""

from __future__ import annotations

from typing import Any

from palimpsest_core.writer.demo.calls import Call, bash, edit, grep, read
from palimpsest_core.writer.demo.script import Script

CWD = "/home/mira/code/tidepool"


def compaction_race(start: int) -> Script:
    """A data race between compaction and readers, found with loom."""
    s = Script("0198d9b3-segment-race", start, CWD, model="deepseek-v4-pro")
    s.user(
        "Readers sometimes see a segment twice right after a background merge. I suspect the manifest swap. "
        "Find the race, prove it, then propose the smallest fix.",
        title="Readers see a merged segment twice",
    )
    s.step(
        think="Two places mutate the manifest: merge and expire. Readers clone an Arc. If the list of segments and the tombstones are two atomics, a reader can see the new segment and the old ones.",
        say="I'll start with how readers take their snapshot.",
        calls=[
            read(
                "src/manifest.rs",
                "pub struct Manifest {\n    segments: ArcSwap<Vec<SegmentRef>>,\n    tombstones: ArcSwap<HashSet<SegmentId>>,\n}\n\nimpl Manifest {\n    pub fn snapshot(&self) -> Snapshot {\n        let segments = self.segments.load_full();\n        let tombstones = self.tombstones.load_full();\n        Snapshot { segments, tombstones }\n    }\n}",
            ),
            grep(
                "tombstones.store",
                "src/merge.rs:88: manifest.tombstones.store(Arc::new(dead));\nsrc/expire.rs:40: manifest.tombstones.store(Arc::new(dead));",
                "src",
            ),
        ],
    )
    s.todos(
        ("in_progress", "Prove the race with loom"), ("pending", "Smallest fix"), ("pending", "Benchmark the read path")
    )
    s.step(
        say="`snapshot` loads two atomics one after the other. Between them a merge can publish the merged segment before it buries its parts. A loom model should find that in a few iterations.",
        calls=[
            edit(
                "tests/loom_manifest.rs",
                "// models",
                "#[test]\nfn reader_never_sees_a_segment_and_its_parts() {\n    loom::model(|| {\n        let m = Arc::new(Manifest::with(&[1, 2]));\n        let w = spawn(m.clone(), |m| m.merge(&[1, 2], 3));\n        let snap = m.snapshot();\n        assert!(!(snap.sees(3) && (snap.sees(1) || snap.sees(2))));\n        w.join().unwrap();\n    });\n}",
            ),
            bash(
                "RUSTFLAGS='--cfg loom' cargo test --test loom_manifest",
                "thread 'main' panicked at tests/loom_manifest.rs:9:\nassertion failed: !(snap.sees(3) && (snap.sees(1) || snap.sees(2)))\niteration 7",
                fails=True,
                seconds=38,
            ),
        ],
    )
    s.step(
        think="One ArcSwap over a struct with both. The read path then loads one pointer instead of two, so it should get faster.",
        say="Proved at iteration 7. The smallest fix is one atomic over both: a reader then loads one pointer and can never mix two versions.",
        calls=[
            edit(
                "src/manifest.rs",
                "    segments: ArcSwap<Vec<SegmentRef>>,\n    tombstones: ArcSwap<HashSet<SegmentId>>,",
                "    current: ArcSwap<Version>,",
                2,
            ),
            edit(
                "src/merge.rs",
                "    manifest.segments.store(Arc::new(live));\n    manifest.tombstones.store(Arc::new(dead));",
                "    manifest.current.rcu(|v| v.merged(&parts, merged.clone()));",
                87,
            ),
            bash(
                "RUSTFLAGS='--cfg loom' cargo test --test loom_manifest",
                "test reader_never_sees_a_segment_and_its_parts ... ok\n\ntest result: ok. 1 passed; finished in 41.20s",
                seconds=43,
            ),
            bash(
                "cargo bench --bench read_path",
                "snapshot/1k-segments   time: [18.4 ns 18.6 ns 18.9 ns]  change: -41.7%",
                seconds=60,
            ),
        ],
    )
    s.todos(
        ("completed", "Prove the race with loom"),
        ("completed", "Smallest fix"),
        ("completed", "Benchmark the read path"),
    )
    s.step(
        say="The race is gone and the read path is 42 % faster, because a snapshot loads one pointer instead of two. `expire.rs` uses the same `rcu`, so it cannot lose a merge either."
    )
    s.end()
    s.user("Why rcu and not a mutex around the writers?", idle=200)
    s.step(
        say="There are two writers, merge and expire, and both compute their new version from the old one. `rcu` retries when somebody else was faster; a mutex would work as well but would hold the lock during `merged()`, which copies up to 40,000 references. If you prefer the mutex for clarity, it costs about 2 ms per merge and nothing for readers."
    )
    s.end()
    return s


def flame_graph(start: int, image: dict[str, Any]) -> Script:
    """A prompt with an image, and a tool result with one."""
    s = Script("0198dc41-flame-graph", start, CWD)
    s.user(
        "This is the flame graph of an ingest run. What is the wide plateau on the right?",
        images=[image],
        title="Plateau in the ingest flame graph",
    )
    s.step(
        think="The plateau is labelled crc32c_sw: software checksum. So the build lacks the hardware path.",
        say="The plateau is `crc32c_sw`: the checksum runs in software. The release profile must have lost `target-feature=+sse4.2`. Let me check.",
        calls=[
            grep("sse4.2", '.cargo/config.toml.bak:4: rustflags = ["-C", "target-feature=+sse4.2"]'),
            Call(
                "screenshot",
                {"target": "flamegraph.svg", "region": "right"},
                "Captured 160x96 pixels.",
                image=image,
                seconds=2,
            ),
        ],
    )
    s.step(
        say="Confirmed: `.cargo/config.toml` was renamed to `.bak` in the last commit. Restoring it brings the hardware checksum back."
    )
    s.end()
    return s


def interrupted_import(start: int) -> Script:
    """The harness died while a tool was running: the turn is open at the end of the log."""
    s = Script("0198fa10-bulk-import", start, CWD)
    s.user(
        "Import the March archive into the test cluster and compare the row counts per day.",
        title="Import of the March archive",
    )
    s.step(
        say="I'll import day by day so that a failure costs one day only.",
        calls=[
            bash("ls archive/2026-03 | wc -l", "31"),
            bash("tide import archive/2026-03/01.tsz --dry-run", "would import 8,412,773 points in 1,204 series"),
        ],
    )
    s.step(
        think="Each day takes about two minutes, so an hour in total.",
        say="The dry run looks right. Starting the import; it takes about an hour.",
        calls=[Call("bash", {"command": "for d in archive/2026-03/*; do tide import $d || break; done"}, None)],
        close=False,
    )
    return s


def aborted_and_failed(start: int) -> list[Script]:
    """How turns end badly: cancelled by the user, the provider failing, the token limit."""
    a = Script("0198cf02-wal-rewrite", start, CWD)
    a.user("Rewrite the WAL reader to use io_uring.", title="WAL reader on io_uring")
    a.step(
        think="Big change. Check the kernel versions in CI first.",
        say="Before the rewrite: which kernels must this run on?",
        calls=[bash("grep -r 'kernel' .github/ | head -3", ".github/ci.yml: # oldest supported kernel: 4.18")],
    )
    a.end("aborted", reason={"kind": "user"})
    a.user("Right, 4.18 has no io_uring. Forget it. Is readahead set on the WAL files at least?", idle=25)
    a.step(calls=[grep("fadvise", "src/wal/reader.rs:61: posix_fadvise(fd, 0, 0, POSIX_FADV_SEQUENTIAL)", "src")])
    a.step(say="Yes: `src/wal/reader.rs:61` advises sequential reads when a WAL file is opened.")
    a.end()
    b = Script("0198d001-query-planner", start + 7_200_000, CWD)
    b.user(
        "Explain how the query planner picks between the tag index and a full scan, with the code paths.",
        title="How the planner picks an index",
    )
    b.retry("Rate limit reached for deepseek-v4-flash", "RATE_LIMIT", 429)
    b.retry("Rate limit reached for deepseek-v4-flash", "RATE_LIMIT", 429)
    b.end(
        "error",
        error={
            "message": "Rate limit reached for deepseek-v4-flash: retry budget exhausted after 2 attempts",
            "code": "RATE_LIMIT",
            "status": 429,
        },
    )
    b.user("Try again.", idle=600)
    b.step(
        think="Cost model in planner/cost.rs.",
        say="I'll read the cost model.",
        calls=[
            read(
                "src/planner/cost.rs",
                "pub fn choose(tags: &TagIndex, scan: &ScanStats, q: &Query) -> Plan {\n    let index = tags.selectivity(q) * SEEK_COST;\n    let full = scan.blocks as f64 * BLOCK_COST;\n    if index < full { Plan::TagIndex } else { Plan::FullScan }\n}",
            )
        ],
    )
    b.step(
        say="`choose` in `src/planner/cost.rs` compares two costs: expected seeks through the tag index (selectivity × SEEK_COST) and a sequential scan (blocks × BLOCK_COST). There is no third path; a query without tags always scans."
    )
    b.end()
    c = Script("0198d0f7-changelog", start + 12_000_000, CWD)
    c.user("Write the full changelog since 0.4 with every commit explained.", title="Changelog since 0.4")
    c.step(
        say="## 0.5.0\n\n- The manifest is one atomic version; readers never see a segment and its parts together.\n- Snapshots load one pointer (42 % faster).\n- `tide import --dry-run` prints points and series.\n- The planner no longer prefers the tag index for queries that match more than"
    )
    c.end("max-tokens")
    return [a, b, c]


def release_day(start: int) -> list[Script]:
    """Shorter sessions around a release."""
    a = Script("0198ee10-msrv", start, CWD)
    a.user(
        "What is our minimum supported Rust version really? The README says 1.70.",
        title="Minimum supported Rust version",
    )
    a.step(
        calls=[
            bash(
                "cargo msrv find --min 1.68",
                "Checking 1.74.0 ... ok\nChecking 1.71.1 ... failed: `let ... else` chains\nMSRV is 1.74.0",
                seconds=120,
            ),
            edit("README.md", "Requires Rust 1.70 or newer.", "Requires Rust 1.74 or newer.", 31),
        ]
    )
    a.step(
        say="It is 1.74: `ArcSwap::rcu` with the new closure bounds needs it. I corrected the README and `rust-version` in Cargo.toml."
    )
    a.end()
    b = Script("0198ee77-docs-links", start + 2_400_000, CWD)
    b.user("cargo doc warns about broken links, fix them all.", title="Broken links in the docs")
    b.step(calls=[bash("cargo doc 2>&1 | grep -c 'unresolved link'", "14")])
    b.step(
        calls=[
            edit(
                "src/segment.rs",
                "/// See [Manifest::swap].",
                "/// See [`Manifest::merge`](crate::manifest::Manifest::merge).",
                12,
            ),
            bash("cargo doc 2>&1 | grep -c 'unresolved link'", "0"),
        ]
    )
    b.step(say="All 14 links resolve now; most of them pointed at `Manifest::swap`, which became `merge`.")
    b.end()
    return [a, b]
