"""Demo projects: a web front end, firmware, a Chinese note taker, and sessions without a folder."""

from __future__ import annotations

from palimpsest_core.writer.demo.calls import Call, bash, edit, grep, read
from palimpsest_core.writer.demo.script import Script

ATLAS = "/home/mira/code/atlas-web"
KESTREL = "/srv/build/firmware-kestrel"
NOTES = "/home/mira/笔记/会话搜索"


def atlas(start: int) -> list[Script]:
    """Front-end work: a focus trap, a dependency bump, a colour question, a plan with two forks."""
    a = Script("0198c5a1-focus-trap", start, ATLAS)
    a.user(
        "Tab escapes from the share dialog to the page behind it. Needs to be fixed for the accessibility audit on Friday.",
        title="Focus escapes the share dialog",
    )
    a.step(
        say="I'll look at how the dialog handles focus.",
        calls=[
            read(
                "src/components/ShareDialog.tsx",
                'export function ShareDialog({ open, onClose }: Props) {\n  const ref = useRef<HTMLDivElement>(null)\n  useEffect(() => { if (open) ref.current?.focus() }, [open])\n  return <div ref={ref} role="dialog" tabIndex={-1}>…</div>\n}',
            ),
            grep("useFocusTrap", "src/hooks/useFocusTrap.ts:5\nsrc/components/CommandBar.tsx:18"),
        ],
    )
    a.step(
        say="The command bar has a focus trap hook already; the dialog only moves the focus once. I'll use the hook and `aria-modal`.",
        calls=[
            edit(
                "src/components/ShareDialog.tsx",
                "  useEffect(() => { if (open) ref.current?.focus() }, [open])",
                "  useFocusTrap(ref, { active: open, restoreTo: 'opener' })",
                3,
            ),
            edit(
                "src/components/ShareDialog.tsx",
                'role="dialog" tabIndex={-1}',
                'role="dialog" aria-modal="true" tabIndex={-1}',
                4,
            ),
            bash(
                "pnpm vitest run ShareDialog",
                " ✓ ShareDialog > keeps Tab inside (12 ms)\n ✓ ShareDialog > returns focus to its opener (9 ms)\n\n Tests  2 passed",
            ),
        ],
    )
    a.step(
        say="Tab and Shift+Tab stay inside the dialog, Escape closes it, and the focus goes back to the button that opened it. Tested with keyboard only; I could not run a screen reader here."
    )
    a.end()

    b = Script("0198c9d8-vite-7", start + 86_000_000, ATLAS)
    b.user("Bump Vite to 7 and tell me what breaks.", title="Vite 7 upgrade")
    b.step(
        calls=[
            bash(
                "pnpm up vite@7 && pnpm build",
                'error during build:\n[vite] Rollup failed to resolve import "@atlas/icons" from src/main.tsx',
                fails=True,
                seconds=21,
            ),
            read("packages/icons/package.json", '{\n  "name": "@atlas/icons",\n  "main": "dist/index.cjs"\n}'),
        ]
    )
    b.step(
        think="Vite 7 wants an exports map or module field.",
        say="`@atlas/icons` has no `exports`; Vite 7 no longer falls back to `main` for workspace packages built as CommonJS.",
        calls=[
            edit(
                "packages/icons/package.json",
                '  "main": "dist/index.cjs"',
                '  "main": "dist/index.cjs",\n  "module": "dist/index.mjs",\n  "exports": {\n    ".": { "import": "./dist/index.mjs", "require": "./dist/index.cjs" }\n  }',
                3,
            ),
            bash(
                "pnpm build",
                "✓ 1,412 modules transformed.\ndist/assets/index-9c1f.js  318.40 kB │ gzip: 101.22 kB\n✓ built in 6.81s",
            ),
        ],
    )
    b.step(say="Only `@atlas/icons` broke. With an `exports` map the build passes and the bundle is 4 kB smaller.")
    b.end()

    c = Script("0198ce30-offline-plan", start + 190_000_000, ATLAS, model="deepseek-v4-pro")
    c.user(
        "We want the map to work offline. Give me two designs I can compare, no code yet.",
        title="Offline map: two designs",
    )
    c.log("plan/mode", {"active": True})
    c.step(
        think="Service worker cache versus a local tile database. Compare size, eviction, first paint.",
        say="**A. Service worker cache.** Tiles are cached as they are seen. Small change, but the user cannot choose a region, and the browser may evict everything.\n\n**B. Tile packages in OPFS.** The user picks a region, we download one file per zoom band, and read it with range requests. Larger change, predictable size, survives eviction when storage is persisted.",
    )
    c.log("plan/mode", {"active": False})
    c.end()
    left = c.fork("0198ce9b-offline-sw", c.time + 1_800_000)
    left.user("Go on with A. What is the smallest thing that is useful on a train?", idle=40)
    left.step(
        say="Cache the last viewed viewport at three zoom levels, and show a stale badge.",
        calls=[
            edit("src/sw.ts", "const CACHE = 'atlas-v1'", "const CACHE = 'atlas-tiles-v1'\nconst KEEP_ZOOMS = 3", 1),
            bash("pnpm test:sw", " ✓ keeps three zooms of the last viewport\n ✓ marks tiles older than a day as stale"),
        ],
    )
    left.step(say="A prototype works: 18 MB for a city, and it opens in flight mode.")
    left.end()
    right = c.fork("0198cea2-offline-opfs", c.time + 3_600_000)
    right.user("Go on with B, only the download and storage part, behind a flag.", idle=40)
    right.step(
        say="I'll start with one package format: a header, an index of tile offsets, and the tiles.",
        calls=[
            edit(
                "src/offline/package.ts",
                "export {}",
                "export interface PackageIndex {\n  zooms: [min: number, max: number]\n  offsets: Uint32Array\n}",
                1,
            ),
            bash(
                "pnpm vitest run offline",
                "FAIL  offline > reads a tile by range\nTypeError: createSyncAccessHandle is not a function",
                fails=True,
            ),
        ],
    )
    right.step(
        say="`createSyncAccessHandle` only exists in a worker. The storage part has to move there; I stop before it grows. Next step: a worker that owns the file handle."
    )
    right.end()
    return [a, b, c, left, right]


def kestrel(start: int) -> list[Script]:
    """Firmware: a brown-out, and a long log read that is pruned."""
    a = Script("0198b7f4-brownout", start, KESTREL)
    a.user(
        "Board rev C resets when the radio transmits at full power and the battery is under 3.5 V. Logs are in logs/brownout.txt.",
        title="Reset on transmit at low battery",
    )
    dump = "\n".join(
        f"[{t:07d}] vbat={3620 - (t // 7) % 160}mV tx={'on' if t % 90 < 12 else 'off'} state=RUN"
        for t in range(0, 1600, 16)
    )
    a.step(say="Reading the log.", calls=[read("logs/brownout.txt", dump)])
    a.step(
        think="Voltage dips by 140 mV with the radio. BOD threshold is probably 3.4 V with no debounce.",
        say="Every reset follows a dip of about 140 mV right after `tx=on`. Let me see how the brown-out detector is configured.",
        calls=[
            grep(
                "BOD",
                "drivers/power.c:44: BOD->CTRL = BOD_LEVEL_3V4 | BOD_RESET;\ndrivers/power.c:45: /* TODO debounce */",
                "drivers",
            )
        ],
    )
    a.prune(
        a.results()[0],
        "[0000000] vbat=3620mV tx=on state=RUN\n[98 similar lines omitted]\n[0001584] vbat=3474mV tx=off state=RUN",
    )
    a.step(
        say="The detector resets on the first sample below 3.4 V. A real brown-out lasts longer than the 2 ms radio ramp, so I'll require 8 ms and drop the transmit power by one step under 3.55 V.",
        calls=[
            edit(
                "drivers/power.c",
                "    BOD->CTRL = BOD_LEVEL_3V4 | BOD_RESET;",
                "    BOD->CTRL = BOD_LEVEL_3V4 | BOD_FILTER_8MS | BOD_RESET;",
                44,
            ),
            edit("radio/power_table.c", "    return TX_MAX;", "    return vbat_mv() < 3550 ? TX_MAX - 1 : TX_MAX;", 19),
            bash(
                "make flash-sim && ./sim --battery 3480 --tx-burst 50",
                "50 bursts, 0 resets, min vbat 3312 mV, lowest tx step -1",
                seconds=33,
            ),
        ],
    )
    a.step(
        say="In the simulator 50 bursts at 3.48 V give no reset (it was 50 of 50 before). **Please try it on a real rev C board**; the simulator does not model the cable."
    )
    a.end()
    b = Script("0198bb20-linker-map", start + 30_000_000, KESTREL)
    b.user("We are 1.2 kB over flash. What can go?", title="1.2 kB over flash")
    b.step(
        calls=[
            bash(
                "arm-none-eabi-nm --size-sort -S build/kestrel.elf | tail -5",
                "00001c40 T _vfprintf_r\n00000e10 T __aeabi_ddiv\n00000b9c t json_scan\n00000a04 T crc_table\n000008f0 T fat_mount",
            ),
            grep("printf(.*%f", "app/telemetry.c:77\napp/telemetry.c:81", "app"),
        ]
    )
    b.step(
        say="Two `%f` in `app/telemetry.c` pull in 7 kB of floating-point printing and the double division. Printing millivolts as integers frees about 10 kB."
    )
    b.end()
    return [a, b]


def notes(start: int) -> list[Script]:
    """Chinese and Japanese sessions."""
    a = Script("0198aa5c-会话搜索功能", start, NOTES)
    a.user(
        "帮我设计一个会话搜索功能：在几千个会话里按关键词查找，要支持中文分词。先说思路，再写代码。",
        title="会话搜索功能的设计",
    )
    a.step(
        think="中文没有空格，unicode61 会把一整段当成一个词。可以在每个汉字之间插入零宽空格，再用短语查询。",
        say="思路：\n\n1. 用 SQLite FTS5 建索引，每条消息一个文档。\n2. 默认的 unicode61 会把连续的汉字当成一个词，所以在每个汉字两侧插入零宽空格，查询时做同样处理。\n3. 结果按命中次数排序，相同时短文档优先。\n\n这样搜索“搜索”能找到“会话搜索功能”。",
        calls=[bash('sqlite3 :memory: "select sqlite_version()"', "3.54.0")],
    )
    a.step(
        say="先写分词函数和一个小测试。",
        calls=[
            edit(
                "search/cjk.py",
                "# 待实现",
                'def spaced(text: str) -> str:\n    """在每个汉字两侧插入零宽空格。"""\n    return HAN.sub(lambda m: f"\\u200b{m.group()}\\u200b", text)',
                1,
            ),
            bash("pytest -q search", "....\n4 passed in 0.08s"),
        ],
    )
    a.step(say="完成：`spaced` 同时用于文档和查询，四个测试全部通过。索引大小比原来增加约 15%，查询速度没有明显变化。")
    a.end()
    a.user("删除会话以后，索引里的记录会马上消失吗？", idle=90)
    a.step(say="会。删除在同一个事务里完成：先删文档，再删会话。如果中途崩溃，下次启动时会按文件的修改时间重新核对。")
    a.end()
    b = Script("0198ab90-kana", start + 40_000_000, NOTES)
    b.user(
        "カタカナの全角と半角を同じものとして検索できるようにしてください。例：「データ」と「ﾃﾞｰﾀ」。",
        title="全角と半角のカタカナ",
    )
    b.step(
        say="NFKC 正規化を使えば、半角カタカナは全角になります。索引と検索語の両方に適用します。",
        calls=[
            edit(
                "search/cjk.py",
                "def spaced(text: str) -> str:",
                'def folded(text: str) -> str:\n    return unicodedata.normalize("NFKC", text)\n\n\ndef spaced(text: str) -> str:',
                5,
            ),
            bash("pytest -q search", "......\n6 passed in 0.09s"),
        ],
    )
    b.step(say="「ﾃﾞｰﾀ」で「データ」が見つかるようになりました。元の文章はそのまま保存しています。")
    b.end()
    return [a, b]


def loose(start: int) -> list[Script]:
    """Sessions without a working directory."""
    a = Script("0198f900-regex-question", start)
    a.user("Regex for a version like 1.2.3 or 1.2.3-rc.4, nothing else?", title="Regex for versions")
    a.step(
        say="`^\\d+\\.\\d+\\.\\d+(?:-rc\\.\\d+)?$`\n\nAnchored at both ends, so `v1.2.3` and `1.2.3-beta` do not match."
    )
    a.end()
    b = Script("0198f934-unit-price", start + 900_000)
    b.user("12 packs of 36 cost 41.40, what is one piece?", title="Price of one piece")
    b.step(calls=[Call("bash", {"command": "python -c 'print(41.40/(12*36))'"}, "0.09583333333333333")])
    b.step(say="About 9.6 cents a piece (41.40 / 432).")
    b.end()
    return [a, b]


def hostile(start: int) -> Script:
    """Text that breaks careless programs: markup, escape sequences, direction marks, lone surrogates, long lines."""
    s = Script("0198f990-[red]hostile[/]", start, "/tmp/[bold]odd path[/", model="deepseek-v4-flash")
    s.user(
        "Render this exactly: [red]x[/ and [link=https://example.org]click[/link] and \x1b[31mred\x1b[0m and \x1b]0;owned\x07 "
        "and \u202eright to left\u202c and a\u200bzero\u200bwidth space, a \x9b31m C1, a NUL \x00 and half an emoji \ud83d.",
        title="[red]x[/ \x1b[31mnot red\x1b[0m \u202etitle",
    )
    s.step(
        think="[/] closing without opening, and <script>alert(1)</script> for good measure.",
        say="Here it is again: [/red] [[nested]] $(rm -rf ~) `; DROP TABLE sessions; --` <b>bold</b> \x1b[2J\x1b[H\u2066isolate\u2069 \r\nCR first\rthen more\ttab",
        calls=[
            Call("bash", {"command": "printf '\\033[2J'"}, "\x1b[2J\x1b[1;1H\x1b[?1049hscreen switched\x1b[?1049l"),
            Call(
                "read_file",
                {"path": "../../../etc/passwd"},
                "Path is outside the workspace.",
                ("PathError", "OUTSIDE_WORKSPACE"),
            ),
        ],
    )
    s.step(say="A very long line follows: " + "wide_" * 900 + "end")
    s.end()
    return s
