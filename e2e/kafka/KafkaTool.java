// Kafka's own clients for the tests: reads topics, makes users, sets quotas. A line of the input is a command; the answer
// ends with a line that has a dot.
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.ScramCredentialInfo;
import org.apache.kafka.clients.admin.ScramMechanism;
import org.apache.kafka.clients.admin.UserScramCredentialUpsertion;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.quota.ClientQuotaAlteration;
import org.apache.kafka.common.quota.ClientQuotaEntity;
import org.apache.kafka.common.serialization.StringDeserializer;

public class KafkaTool {
    public static void main(String[] arguments) throws Exception {
        Map<String, Object> broker = Map.of("bootstrap.servers", arguments[0], "allow.auto.create.topics", true);
        var commands = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        try (var consumer = new KafkaConsumer<>(broker, new StringDeserializer(), new StringDeserializer());
                var admin = Admin.create(Map.of("bootstrap.servers", arguments[0]))) {
            for (String line; (line = commands.readLine()) != null;) {
                String[] words = line.split(" ", 4);
                switch (words[0]) {
                    case "read" -> read(consumer, words[1]);
                    case "user" -> {
                        var credential = new ScramCredentialInfo(ScramMechanism.fromMechanismName(words[1]), 4096);
                        var user = new UserScramCredentialUpsertion(words[2], credential, words[3]);
                        admin.alterUserScramCredentials(List.of(user)).all().get();
                    }
                    case "quota" -> {
                        var entity = new ClientQuotaEntity(Map.of(ClientQuotaEntity.CLIENT_ID, words[1]));
                        var rate = new ClientQuotaAlteration.Op("producer_byte_rate", Double.valueOf(words[2]));
                        admin.alterClientQuotas(List.of(new ClientQuotaAlteration(entity, List.of(rate)))).all().get();
                    }
                    default -> throw new IllegalArgumentException(line);
                }
                System.out.println(".");
                System.out.flush();
            }
        }
    }

    // Each record of the first partition: key, tab, value.
    private static void read(KafkaConsumer<String, String> consumer, String topic) {
        var partition = new TopicPartition(topic, 0);
        consumer.assign(List.of(partition));
        consumer.seekToBeginning(List.of(partition));
        long end = consumer.endOffsets(List.of(partition)).get(partition);
        while (consumer.position(partition) < end) {
            for (ConsumerRecord<String, String> record : consumer.poll(Duration.ofSeconds(1))) {
                System.out.println(record.key() + "\t" + record.value());
            }
        }
    }
}
