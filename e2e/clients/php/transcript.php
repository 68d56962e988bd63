<?php
// What the two PHP programs share: settings, the transcript and the text of schema.sql.

declare(strict_types=1);

const BIG_BYTES = 20 * 1024 * 1024;

/** A variable of the environment, which must be set. */
function setting(string $name): string
{
    $value = getenv($name);
    if ($value === false) {
        fail("$name is not set");
    }
    return $value;
}

function is_on(string $name): bool
{
    return setting($name) === '1';
}

function fail(string $text): never
{
    fwrite(STDERR, "$text\n");
    exit(1);
}

function section(string $name): void
{
    echo "[$name]\n";
}

function say(string $label, mixed ...$values): void
{
    echo "$label: ", implode(' | ', array_map('shown', $values)), "\n";
}

function shown(mixed $value): string
{
    return match (true) {
        $value === null => 'NULL',
        is_bool($value) => $value ? 'yes' : 'no',
        is_string($value) && (!is_printable($value)) => '0x' . bin2hex($value),
        default => (string) $value,
    };
}

/** Is it UTF-8 without control characters? */
function is_printable(string $value): bool
{
    return preg_match('/^[^\x00-\x1f\x7f]*$/u', $value) === 1;
}

/** Runs `$action`, which is to throw, and prints what `$describe` makes of the exception. */
function say_error(string $label, callable $action, callable $describe): void
{
    try {
        $action();
    } catch (Exception $error) {
        say($label, $describe($error));
        return;
    }
    fail("$label: an error was expected");
}

/** The statements of schema.sql, which are parted by blank lines. */
function schema_statements(): array
{
    return explode("\n\n", trim(file_get_contents(setting('CLIENT_SCENARIO') . '/schema.sql')));
}

function big_parameter(): string
{
    $period = implode('', array_map('chr', range(0, 250)));
    return substr(str_repeat($period, intdiv(BIG_BYTES, 251) + 1), 0, BIG_BYTES);
}

/** Queries whose payload straddles 2^24 - 1 bytes: the text and one byte more. */
function queries_around_16_mib(): Generator
{
    for ($length = 16777212; $length < 16777218; $length++) {
        [$start, $end] = ["SELECT LENGTH('", "')"];
        yield $start . str_repeat('x', $length - strlen($start) - strlen($end)) . $end;
    }
}
