-- Adds a message to the stream and returns its entry. Call `count` of counts.lua first, so that damaged counts fail the script.
local function add_message(inbound, chat, message, traceparent, cancels, forwarded)
  local fields = { 'chat', chat, 'message', message, 'traceparent', traceparent }
  for name, value in pairs({ cancels = cancels, forwarded = forwarded }) do
    if value ~= '' then
      fields[#fields + 1], fields[#fields + 2] = name, value
    end
  end
  return redis.call('XADD', inbound, '*', unpack(fields))
end
