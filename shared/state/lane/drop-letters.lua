-- Removes the oldest dead letters of a shard that has too many, and adds their number to the count of dropped letters.
-- KEYS  1 dead   2 counts
-- ARGV  1 maximum number of dead letters   2 maximum number of letters to remove at once
-- Reply {ledger record (JSON) of each removed letter, …}
-- include: entry
local surplus = math.min(redis.call('XLEN', KEYS[1]) - tonumber(ARGV[1]), tonumber(ARGV[2]))
if surplus <= 0 then
  return {}
end
local records = {}
for _, letter in ipairs(redis.call('XRANGE', KEYS[1], '-', '+', 'COUNT', surplus)) do
  redis.call('XDEL', KEYS[1], letter[1])
  records[#records + 1] = field(letter[2], 'record') or ''
end
-- A full Redis accepts this write, because the deletions before it freed memory.
redis.call('HINCRBY', KEYS[2], 'lettersDropped', surplus)
return records
