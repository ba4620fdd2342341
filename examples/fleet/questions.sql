-- What a fleet can be asked, as heat2mqtt_reader. The columns of the views in heat2mqtt_views:
-- reading: account, meter, day, energy_kwh, cost, revision, received_at, currency, meter_name
-- invoice: account, invoice, status, start_at, end_at, due_at, total, open, currency
-- account_state: account, paused, removed, due_at, poll_at, last_poll_at, last_success_at, failures, failing_since, last_error, auth_state, claimed, process, advice, needs_user, first_history, retry_after

-- Which flats used most this month?
SELECT account, sum(energy_kwh) AS kwh, sum(cost) AS cost
FROM heat2mqtt_views.reading WHERE day >= date_trunc('month', current_date)
GROUP BY account ORDER BY kwh DESC NULLS LAST LIMIT 20;

-- For which flats is there no reading of the last three days?
SELECT s.account, max(r.day) AS newest, s.last_success_at, s.last_error
FROM heat2mqtt_views.account_state s LEFT JOIN heat2mqtt_views.reading r USING (account)
WHERE NOT s.paused
GROUP BY s.account, s.last_success_at, s.last_error
HAVING max(r.day) IS NULL OR max(r.day) < current_date - 3 ORDER BY newest NULLS FIRST;

-- What is owed, and since when?
SELECT account, count(*) AS invoices, sum(open) AS open, min(due_at)::date AS since
FROM heat2mqtt_views.invoice WHERE open > 0 AND due_at < now()
GROUP BY account ORDER BY open DESC;

-- Which accounts wait for their user, and what has to be done?
SELECT account, auth_state, last_error, advice, failing_since
FROM heat2mqtt_views.account_state WHERE needs_user AND NOT paused ORDER BY failing_since;
