-- Stores the id of our message in the chat of a summons, or that Telegram refused it, while the summons is on its way, and
-- returns what is known. The first id wins.
-- KEYS  1 inbound   2 turn
-- ARGV  1 entry   2 the id of our message in the chat, or ''   3 '1' if Telegram takes no answer, or ''
-- Reply {the id | '', '1' if Telegram takes no answer | ''}
if #redis.call('XRANGE', KEYS[1], ARGV[1], ARGV[1]) > 0 then
  if ARGV[2] ~= '' then
    redis.call('HSETNX', KEYS[2], 'reply:there', ARGV[2])
  end
  if ARGV[3] ~= '' then
    redis.call('HSET', KEYS[2], 'reply:refused', 1)
  end
end
local known = redis.call('HMGET', KEYS[2], 'reply:there', 'reply:refused')
return { known[1] or '', known[2] or '' }
