// Answers one JSON line per JSON line on standard input: {"query": "..."} -> {"ms", "items": [[session, seq], ...], "rss_mb"}
//   node reference_driver.mjs engine MODULES ROOT DB    the reference engine over the root (its first search indexes all)
//   node reference_driver.mjs list   MODULES ROOT -     only its listing of sessions, the index never opened
//   node reference_driver.mjs sql    MODULES -    DB    only the contract's plain SQL, over tables made by reference_index.py
// With sql a line may hold "cwd": then only sessions of that directory count.
// MODULES is the node_modules/@deepseek-ai folder of an installed copy of the reference's packages (not needed for sql: -).
import { createInterface } from 'node:readline'
import { pathToFileURL } from 'node:url'
import { DatabaseSync } from 'node:sqlite'

const [mode, modules, root, path] = process.argv.slice(2)
const load = async name => import(pathToFileURL(`${modules}/${name}/lib/index.js`).href)

async function engine(config) {
  const { Context } = await load('cordis')
  const ctx = new Context()
  await ctx.plugin((await load('dsh-session')).default)
  await ctx.plugin((await load('dsh-session-persistence-jsonl')).default, { root })
  await ctx.plugin((await load('dsh-session-query-sqlite')).default, config)
  return ctx.sessionQuery
}

let search
if (mode === 'engine') {
  const query = await engine({ path })
  search = async text => (await query.searchSessions({ query: text })).items
    .map(hit => [hit.bestMatch.sessionId, hit.bestMatch.seq])
} else if (mode === 'list') {
  const query = await engine({ path: ':memory:', openAt: 'never' })
  search = async () => (await query.listSessions()).map(record => [record.header.id, 0])
} else {
  const db = new DatabaseSync(path)
  const mark = '\uFDD0'
  // Spans are counted by highlighting: each match gets one opening mark.
  const ranked = narrowed => db.prepare(`
    WITH matched AS (
      SELECT session_id, seq, time, codepoint_length, highlight(docs, 0, ?1, ?2) AS marked
        FROM docs ${narrowed ? 'JOIN sessions ON sessions.id = docs.session_id' : ''}
        WHERE docs MATCH ?3 ${narrowed ? 'AND sessions.cwd = ?4' : ''}),
    counted AS (
      SELECT session_id, seq, time, codepoint_length, marked,
        length(marked) - length(replace(marked, ?1, '')) AS spans FROM matched),
    ranked AS (
      SELECT *, ROW_NUMBER() OVER (PARTITION BY session_id
        ORDER BY spans DESC, codepoint_length ASC, time DESC, seq DESC) AS place FROM counted)
    SELECT session_id, seq, marked FROM ranked WHERE place = 1
    ORDER BY spans DESC, codepoint_length ASC, time DESC, session_id ASC, seq DESC LIMIT 21`)
  const everywhere = ranked(false)
  let inOne
  search = async (text, cwd) => {
    const given = [mark, '\uFDD1', `"${text.replaceAll('"', '""')}"`]
    const rows = cwd === undefined ? everywhere.all(...given) : (inOne ??= ranked(true)).all(...given, cwd)
    return rows.slice(0, 20).map(row => [row.session_id, row.seq])
  }
}
for await (const line of createInterface({ input: process.stdin })) {
  const { query, cwd } = JSON.parse(line)
  const began = performance.now()
  const items = await search(query, cwd)
  console.log(JSON.stringify({ ms: performance.now() - began, items, rss_mb: process.resourceUsage().maxRSS / 1000 }))
}
process.exit(0)
