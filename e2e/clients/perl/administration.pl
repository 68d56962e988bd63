# The admin port through Perl's DBI: `administration.pl perl-dbd-mariadb`, or `administration.pl perl-odbc` with MariaDB's
# ODBC driver, whose file CLIENT_ODBC_DRIVER names.
#
# Both drivers prepare on the server, the first one because it is told to. DBI's `begin_work` says `SET autocommit = 0`, which
# the admin port does not heed, so the program says BEGIN.

use strict;
use warnings;
use utf8;
use DBI;

my $is_odbc = $ARGV[0] eq 'perl-odbc';
binmode STDOUT, ':encoding(UTF-8)';

sub source {
    my ($password) = @_;
    my ($host, $port, $database) = @ENV{qw(CLIENT_HOST CLIENT_PORT CLIENT_DATABASE)};
    if ($is_odbc) {
        my $tls = $ENV{CLIENT_TLS} eq '1' ? 'FORCETLS=1' : '';
        return "DBI:ODBC:DRIVER=$ENV{CLIENT_ODBC_DRIVER};SERVER=$host;PORT=$port;DATABASE=$database;"
            . "UID=$ENV{CLIENT_USER};PWD=$password;CHARSET=utf8mb4;$tls";
    }
    return "DBI:MariaDB:database=$database;host=$host;port=$port;mariadb_server_prepare=1";
}

sub connect_with {
    my ($password) = @_;
    my @account = $is_odbc ? ('', '') : ($ENV{CLIENT_USER}, $password);
    my %options = (RaiseError => 1, PrintError => 0, AutoCommit => 1);
    $options{odbc_err_handler} = \&note_number if $is_odbc;
    return DBI->connect(source($password), @account, \%options);
}

# The server's number, which the driver for ODBC tells to such a function only, and of a login to nobody.
my $number;

sub note_number {
    (undef, undef, $number) = @_;
    return 1;
}

sub say_values {
    my ($label, @values) = @_;
    # The driver for ODBC leaves texts as bytes.
    utf8::decode($_) for grep { !utf8::is_utf8($_) } @values;
    print "$label: ", join(' | ', @values), "\n";
}

# Runs a step that must fail, and prints the number of its error.
sub say_error {
    my ($label, $step) = @_;
    undef $number;
    eval { $step->(); 1 } and die "$label: an error was expected\n";
    my $of_login = $DBI::state eq '28000' ? 1045 : $DBI::err;
    say_values($label, $is_odbc ? $number // $of_login : $DBI::err);
}

my $connection = connect_with($ENV{CLIENT_PASSWORD});
my $value = sub { ($connection->selectrow_array($_[0]))[0] };
say_values('user', $value->('SELECT USER()'));
my $joined = "SELECT b.weight, s.value FROM backends b JOIN settings s ON s.name = 'limits.sessions_max'";
say_values('joined', $connection->selectrow_array($joined));
say_values('tables', @{ $connection->selectcol_arrayref("SHOW TABLES LIKE 'sess%'") });
my $prepared = $connection->prepare('SELECT ? AS number, ? AS word, name FROM settings WHERE name = ?');
$prepared->execute(7, "it's 🐟", 'limits.sessions_max');
say_values('prepared', $prepared->fetchrow_array);
$prepared->finish;
$connection->do('USE stats');
say_values('schema', $value->('SELECT DATABASE()'));
$connection->do('USE pilotfish');
my $setting = "SELECT value FROM settings WHERE name = 'limits.sessions_max'";
my $change = sub { $connection->do('UPDATE settings SET value = ? WHERE name = ?', undef, $_[0], 'limits.sessions_max') };
my $affected = $change->(888);
say_values('changed', $affected, $value->($setting));
$connection->do('BEGIN');
$change->(999);
$connection->do('ROLLBACK');
say_values('rolled back', $value->($setting));
$connection->do('REVERT');
say_values('reverted', $value->($setting));
say_error('unknown table', sub { $value->('SELECT * FROM nowhere') });
say_error('syntax', sub { $connection->do('SELECT FROM') });
say_error('wrong password', sub { connect_with('not it') });
$connection->ping or die "the admin port does not answer a ping\n";
say_values('alive', $value->('SELECT 42'));
$connection->disconnect;
